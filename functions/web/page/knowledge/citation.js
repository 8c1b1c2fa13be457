// A citation's link opens the passage that it names, in a dialog over the conversation.

import { Knowledge } from "./client.js";
import { Markdown } from "../markdown/render.js";
import { el, icon, setText } from "../view/dom.js";

export class Citations {
  #title = el("h2", { id: "citation-title", tabindex: -1 });
  #where = el("p", { class: "citation-where" });
  #text = el("div", { class: "prose", dir: "auto" });
  #close = el("button", { type: "button", class: "icon-button small", "aria-label": "Close passage" }, icon("cross"));
  #dialog = el("dialog", { class: "sheet citation", "aria-labelledby": "citation-title" },
    el("header", { class: "sheet-head" }, this.#title, this.#close), this.#where, this.#text);
  #asked = 0;

  /** `root`: where links are listened for; `agent()`: who is asked for what they lead to. */
  constructor(root, agent) {
    this.agent = agent;
    document.body.append(this.#dialog);
    this.#close.addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", ({ target }) => target === this.#dialog && this.#dialog.close());
    root.addEventListener("click", (event) => this.#clicked(event));
  }

  #clicked(event) {
    const link = event.target.closest("a.citation-link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#open(link.getAttribute("href"), link.textContent);
  }

  async #open(link, label) {
    const asked = (this.#asked += 1);
    this.#say(label, "Reading the passage…", "");
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#title.focus();
    try {
      const passage = await new Knowledge(this.agent()).passage(link);
      if (asked === this.#asked) this.#say(passage.headings.at(-1) ?? passage.docId, where(passage), passage.text);
    } catch (error) {
      if (asked === this.#asked) this.#say(label, error.message || "The passage could not be read.", "");
    }
  }

  #say(title, place, text) {
    setText(this.#title, title);
    setText(this.#where, place);
    this.#text.replaceChildren();
    new Markdown(this.#text).update(text);
  }
}

const where = ({ kbId, docId, headings, page }) =>
  [kbId, docId.startsWith(`${kbId}/`) ? docId.slice(kbId.length + 1) : docId, ...headings.slice(0, -1), page && `page ${page}`].filter(Boolean).join(" › ");
