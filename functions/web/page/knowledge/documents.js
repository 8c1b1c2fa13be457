// The documents of an agent's knowledge bases: which base it is asked about, what is in it, import and delete.

import { Knowledge } from "./client.js";
import * as choice from "./choice.js";
import { el, icon, setText } from "../view/dom.js";

const ACCEPTED = ".md,.markdown,.txt,.text,.zip";
const WORDS = { draft: "saved", indexing: "indexing", completed: "ready", error: "failed", skipped: "skipped" };

const passages = (count) => `${count} passage${count === 1 ? "" : "s"}`;

export class Documents {
  #base = el("select", { id: "kb-base" });
  #name = el("input", { id: "kb-name", type: "text", maxlength: 128, placeholder: "e.g. handbook", autocomplete: "off", pattern: "\\w[\\w.\\-]*" });
  #files = el("input", { id: "kb-files", type: "file", multiple: true, accept: ACCEPTED });
  #send = el("button", { type: "submit", class: "primary small" }, "Import");
  #bar = el("progress", { "aria-label": "Files imported", hidden: true });
  #status = el("p", { class: "kb-status", role: "status" });
  #steps = el("ul", { class: "kb-steps", "aria-label": "Progress of the import" });
  #list = el("ul", { class: "kb-documents", "aria-label": "Documents" });
  #close = el("button", { type: "button", class: "icon-button small", "aria-label": "Close documents" }, icon("cross"));
  #form = el("form", { class: "kb-import" },
    el("label", { for: "kb-name" }, "Into the knowledge base"), this.#name,
    el("label", { for: "kb-files" }, "Markdown, text or zip files"), this.#files, this.#send);
  #dialog = el("dialog", { class: "sheet", "aria-labelledby": "kb-title" },
    el("header", { class: "sheet-head" }, el("h2", { id: "kb-title" }, "Documents"), this.#close),
    el("div", { class: "kb-choice" }, el("label", { for: "kb-base" }, "Ask about"), this.#base),
    this.#form, this.#bar, this.#status, this.#steps, this.#list);
  #agent = null;
  #known = new Map();

  /** `button` opens it; shown only for agents whose URL serves documents. */
  constructor(button) {
    this.button = button;
    document.body.append(this.#dialog);
    button.addEventListener("click", () => this.#open());
    this.#close.addEventListener("click", () => this.#dialog.close());
    this.#base.addEventListener("change", () => this.#chosen());
    this.#form.addEventListener("submit", (event) => this.#import(event));
  }

  /** The page shows another agent. */
  show(agent) {
    this.#agent = agent;
    this.button.hidden = !agent.routes?.includes("documents");
    this.#label();
  }

  get #client() {
    return new Knowledge(this.#agent);
  }

  #label() {
    const kbId = choice.of(this.#agent.name);
    const words = kbId ? `Documents: ${kbId}` : "Documents";
    setText(this.button.lastElementChild, words);
    this.button.setAttribute("aria-label", words); // where there is no room the words are not shown
  }

  async #open() {
    this.#steps.replaceChildren();
    this.#say("");
    this.#dialog.showModal();
    await this.#refresh(choice.of(this.#agent.name));
  }

  async #refresh(kbId) {
    await this.#try(async () => {
      const { bases, samples } = await this.#client.bases();
      this.#known = new Map(bases.map((base) => [base.kbId, base]));
      const names = [...new Set([...this.#known.keys(), ...samples, ...(kbId ? [kbId] : [])])].sort();
      this.#base.replaceChildren(el("option", { value: "" }, "All that I may read"), ...names.map((name) => el("option", { value: name }, name)));
      this.#base.value = kbId;
      await this.#draw(kbId);
    });
  }

  async #chosen() {
    choice.choose(this.#agent.name, this.#base.value);
    this.#label();
    await this.#try(() => this.#draw(this.#base.value));
  }

  async #draw(kbId) {
    const names = kbId ? [kbId] : [...this.#known.keys()];
    const found = await Promise.all(names.map(async (name) => ({ name, ...(await this.#client.documents(name)) })));
    if (kbId) this.#name.value = kbId;
    const rows = found.flatMap(({ name, documents, writable }) => documents.map((document) => this.#row(name, document, writable)));
    this.#list.replaceChildren(...(rows.length ? rows : [el("li", { class: "kb-empty" }, "Nothing was imported here yet.")]));
  }

  #row(kbId, { docId, title, status, chunks, error }, writable) {
    const words = status === "completed" ? passages(chunks) : error ?? WORDS[status];
    const remove = el("button", { type: "button", class: "icon-button small", "aria-label": `Delete ${docId}` }, icon("cross"));
    remove.addEventListener("click", () => this.#remove(kbId, docId));
    return el("li", { dataset: { status } },
      el("span", { class: "kb-doc" }, el("span", { class: "kb-doc-title", dir: "auto" }, title), el("span", { class: "kb-doc-id" }, docId)),
      el("span", { class: "kb-doc-status" }, words), writable ? remove : null);
  }

  async #remove(kbId, docId) {
    await this.#try(async () => {
      await this.#client.remove(kbId, docId);
      await this.#refresh(this.#base.value);
      this.#say(`Deleted ${docId}.`);
    });
    this.#close.focus();
  }

  async #import(event) {
    event.preventDefault();
    const kbId = this.#name.value.trim();
    const files = [...this.#files.files];
    if (!kbId || !files.length || this.#send.disabled) return this.#say(kbId ? "Choose a file first." : "Name a knowledge base first.");
    this.#begin(files.length);
    for (const [index, file] of files.entries()) {
      await this.#try(() => this.#client.import(kbId, file, (step) => this.#step(step)), file.name);
      this.#bar.value = index + 1;
    }
    this.#send.disabled = false;
    this.#bar.hidden = true;
    this.#files.value = "";
    await this.#refresh(this.#base.value);
    return this.#say(this.#summary());
  }

  #begin(count) {
    this.#send.disabled = true;
    this.#steps.replaceChildren();
    Object.assign(this.#bar, { hidden: false, max: count, value: 0 });
    this.#say("Importing…");
  }

  /** One line a document, which changes as it goes on. */
  #step({ docId, name, status, chunks, error, reason }) {
    if (!status) return;
    const id = docId ?? name;
    const line = [...this.#steps.children].find(({ dataset }) => dataset.id === id) ?? this.#steps.appendChild(el("li", { dataset: { id } }));
    line.dataset.status = status;
    setText(line, `${id}: ${WORDS[status]}${chunks ? ` (${passages(chunks)})` : ""}${error || reason ? `, ${error ?? reason}` : ""}`);
  }

  #summary() {
    const counts = new Map();
    for (const { dataset } of this.#steps.children) counts.set(dataset.status, (counts.get(dataset.status) ?? 0) + 1);
    return [...counts].map(([status, count]) => `${count} ${WORDS[status]}`).join(", ");
  }

  async #try(act, name = "") {
    try {
      await act();
    } catch (error) {
      const words = error.message || "The agent could not be reached.";
      if (name) this.#step({ name, status: "error", error: words });
      else this.#say(words);
    }
  }

  #say(text) {
    setText(this.#status, text);
  }
}
