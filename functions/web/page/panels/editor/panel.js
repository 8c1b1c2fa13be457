// The editor of writer and editorChat: a document, what the agent suggests for it, and a selection that it rewrites.

import { copyButton } from "../../view/copy.js";
import { el, freshId, icon, setText } from "../../view/dom.js";
import { Draft } from "./draft.js";
import { GhostCard } from "./ghost_card.js";
import * as kept from "./kept.js";
import { editBetween, toShown } from "./line_ends.js";
import { SAMPLE } from "./sample.js";
import { SuggestionList } from "./suggestion_list.js";

const CHANGES = "writer_change_summaries";
const SAVE_DELAY_MS = 400;
const REFUSED = {
  EDITOR_BUSY: "EDITOR_BUSY: suggestions have arrived while a selection is being rewritten. Accept or discard the rewrite, then take them.",
  BASELINE_STALE: "BASELINE_STALE: the document has changed since it was sent, so these suggestions do not fit it. Undo the change and take them, or ask again.",
};
const FULL = "This browser has no room to keep the document: a reload would lose it. Copy it, or clear site data.";

/** The panel of one thread; see panels/index.js. */
export async function open(context) {
  await stylesheet(new URL("editor.css", import.meta.url).href);
  return new EditorPanel(context);
}

function stylesheet(href) {
  if ([...document.styleSheets].some((sheet) => sheet.href === href)) return null;
  return new Promise((resolve, reject) => {
    document.head.append(el("link", { rel: "stylesheet", href, on: { load: resolve, error: () => reject(new Error("editor.css could not be read")) } }));
  });
}

const button = (name, text, click, kind = "ghost small") => el("button", { type: "button", class: kind, on: { click } }, name && icon(name), el("span", {}, text));

class EditorPanel {
  #context;
  #draft;
  #refused = null; // {code, value} of suggestions that could not be taken
  #saving = null;
  #text = el("textarea", { class: "document", "aria-label": "Document", dir: "auto", spellcheck: "false", placeholder: "Write or open a document here. What the agent suggests appears below it." });
  #instruction = el("input", { class: "field small", type: "text", dir: "auto", "aria-label": "How to rewrite", placeholder: "How to rewrite (optional), e.g. 更正式" });
  #intent = el("select", { class: "field small", "aria-label": "What a message is" },
    ...[["", "Decide by itself"], ["ask", "Only answer"], ["write", "Always rewrite"]].map(([value, label]) => el("option", { value }, label)));
  #count = el("span", { class: "document-count" });
  #file = el("input", { type: "file", accept: ".md,.markdown,.txt,text/*", hidden: true, "aria-label": "Open a document" });
  #undo = button("reply", "Undo", () => this.#change(() => this.#draft.undo()));
  #sample = button("plus", "Sample", () => this.#load(SAMPLE));
  #rewriteSelection = button(null, "Rewrite selection", () => this.#startInline());
  #rewriteAll = button("spark", "Rewrite document", () => this.#context.send("润色全文"), "primary small");
  #alertText = el("p", {});
  #alert = el("div", { class: "editor-alert", role: "alert", hidden: true }, icon("info"), this.#alertText);
  #take = button(null, "Take them", () => this.#offer(this.#refused.value));
  #dismiss = button(null, "Drop them", () => this.#refuse(null), "quiet small");
  #ghost = new GhostCard({ accept: () => this.#acceptInline(), discard: () => this.#discardInline() });
  #list = new SuggestionList({
    accept: (sid) => this.#change(() => this.#draft.accept(sid)),
    reject: (sid) => this.#change(() => this.#draft.reject(sid)),
    acceptAll: () => this.#change(() => this.#draft.acceptAll()),
    rejectAll: () => this.#change(() => this.#draft.suggestions.forEach(({ sid }) => this.#draft.reject(sid))),
    show: (suggestion) => this.#show(suggestion),
  });
  root;

  constructor(context) {
    this.#context = context;
    const { text, suggestions, instruction = "", intent = "" } = kept.read(this.#thread) ?? {};
    this.#draft = new Draft({ text, suggestions });
    this.#instruction.value = instruction;
    this.#intent.value = intent;
    this.#text.value = this.#draft.shown;
    this.#alert.append(this.#take, this.#dismiss);
    this.root = this.#layOut();
    this.#listen();
    this.#drawAll();
  }

  get #thread() {
    return { agent: this.#context.agent, threadId: this.#context.threadId };
  }

  get #talks() {
    return this.#context.agent === "editorChat";
  }

  #layOut() {
    const body = el("div", { class: "editor-body", id: freshId("editor") }, this.#text,
      el("div", { class: "editor-bar" }, this.#instruction, ...(this.#talks ? [this.#intent] : [this.#rewriteSelection]), this.#rewriteAll),
      this.#alert, this.#ghost.root, this.#list.root);
    const fold = el("button", { type: "button", class: "editor-fold", "aria-expanded": "true", "aria-controls": body.id }, icon("chevron"), el("span", {}, "Document"));
    fold.addEventListener("click", () => {
      body.hidden = !body.hidden;
      fold.setAttribute("aria-expanded", String(!body.hidden));
    });
    return el("div", { class: "editor" },
      el("header", { class: "editor-head" }, el("h2", {}, fold), this.#count, el("span", { class: "space" }), this.#sample, this.#undo,
        button(null, "Open…", () => this.#file.click()), copyButton(() => this.#draft.text, "Copy document"), this.#file),
      body);
  }

  #listen() {
    this.#text.addEventListener("input", () => this.#typed());
    this.#file.addEventListener("change", async () => {
      const [file] = this.#file.files;
      this.#file.value = "";
      if (file) this.#load(await file.text());
    });
    for (const one of [this.#instruction, this.#intent]) one.addEventListener("change", () => this.#saveSoon());
    document.addEventListener("selectionchange", this.#selected);
    addEventListener("pagehide", this.#save);
  }

  close() {
    this.#save();
    document.removeEventListener("selectionchange", this.#selected);
    removeEventListener("pagehide", this.#save);
  }

  // what the page asks

  /** The state that goes along with a message about the document. */
  state() {
    const { value } = this.#text;
    const focus = value.slice(this.#text.selectionStart, this.#text.selectionEnd).trim();
    return {
      editCase: "document",
      documentBaseline: this.#draft.text,
      ...this.#wish(),
      ...(focus && { focuses: [focus] }),
      ...(this.#talks && this.#intent.value && { forceIntent: this.#intent.value }),
    };
  }

  takes(event) {
    return event.name === CHANGES;
  }

  heard(event) {
    if (event.type === "CUSTOM" && event.name === CHANGES) this.#offer(event.value);
    else if (this.#draft.inline && !this.#draft.inline.ready && this.#context.session.given?.editCase === "inline") this.#heardInline(event);
  }

  draw() {
    const { inline } = this.#draft;
    const { busy } = this.#context.session;
    this.#text.readOnly = Boolean(inline);
    this.#rewriteAll.disabled = busy || !this.#draft.text.trim();
    this.#rewriteSelection.disabled = busy || Boolean(inline) || this.#text.selectionStart === this.#text.selectionEnd;
    this.#undo.hidden = !this.#draft.canUndo;
    this.#ghost.draw(inline, this.#draft.text, busy);
    this.#list.draw(this.#draft, Boolean(inline));
  }

  // the document

  #wish() {
    const polishInstruction = this.#instruction.value.trim();
    return polishInstruction ? { polishInstruction } : {};
  }

  #typed() {
    this.#draft.typed(this.#text.value);
    this.#drawAll();
    this.#saveSoon();
  }

  #load(text) {
    this.#draft.replace(text);
    this.#refuse(null);
    this.#changed();
    this.#text.setSelectionRange(0, 0);
  }

  /** A change of the draft that may be refused; the textarea follows. */
  #change(make) {
    make();
    this.#changed();
  }

  #changed() {
    const edit = editBetween(this.#text.value, this.#draft.shown);
    if (edit) this.#text.setRangeText(edit.text, edit.from, edit.to, "preserve");
    this.#drawAll();
    this.#saveSoon();
  }

  #show({ from, to }) {
    const { text } = this.#draft;
    this.#text.blur(); // a field that gets the focus scrolls to its selection
    this.#text.setSelectionRange(toShown(text, from), toShown(text, to));
    this.#text.focus();
  }

  #selected = () => document.activeElement === this.#text && this.#drawAll();

  #drawAll() {
    const { selectionStart, selectionEnd, value } = this.#text;
    const chosen = selectionEnd - selectionStart;
    setText(this.#count, chosen ? `${chosen.toLocaleString("en")} of ${value.length.toLocaleString("en")} selected` : `${value.length.toLocaleString("en")} chars`);
    this.#sample.hidden = value !== "";
    this.draw();
  }

  // suggestions

  #offer(value) {
    const code = this.#draft.offer(value);
    this.#refuse(code && { code, value });
    if (!code) this.#list.announce(this.#draft.suggestions.length);
    this.#changed();
    if (document.activeElement !== this.#text) (code ? this.#alert : this.#list.root).scrollIntoView({ block: "nearest" });
  }

  /** `refused`: {code, value}, or null when there is nothing to say any more. */
  #refuse(refused) {
    this.#refused = refused;
    this.#say(refused ? REFUSED[refused.code] : "");
    this.#take.hidden = this.#dismiss.hidden = !refused;
  }

  #say(text) {
    setText(this.#alertText, text);
    this.#alert.hidden = !text;
  }

  // a selection

  #startInline() {
    const selection = this.#draft.startInline(this.#text.selectionStart, this.#text.selectionEnd);
    if (!selection) return;
    this.#context.send(selection, { editCase: "inline", ...this.#wish() });
    this.#drawAll();
    this.#ghost.root.scrollIntoView({ block: "nearest" });
  }

  #heardInline({ type, delta, outcome }) {
    const { inline } = this.#draft;
    if (type === "RUN_STARTED" || type === "TEXT_MESSAGE_START") inline.newText = "";
    else if (type === "TEXT_MESSAGE_CONTENT") inline.newText += delta;
    else if (type === "RUN_FINISHED") inline.ready = outcome?.type !== "cancelled" && inline.newText.trim() !== "";
  }

  #acceptInline() {
    this.#change(() => this.#draft.acceptInline());
    this.#text.focus();
  }

  #discardInline() {
    if (this.#context.session.busy && this.#context.session.given?.editCase === "inline") this.#context.session.stop();
    this.#change(() => this.#draft.discardInline());
    this.#text.focus();
  }

  // keeping

  #saveSoon() {
    this.#context.keep();
    clearTimeout(this.#saving);
    this.#saving = setTimeout(this.#save, SAVE_DELAY_MS);
  }

  #save = () => {
    if (this.#saving === null) return; // nothing has changed
    clearTimeout(this.#saving);
    this.#saving = null;
    const found = kept.write(this.#thread, { ...this.#draft.toJSON(), instruction: this.#instruction.value, intent: this.#intent.value });
    if (!found) this.#say(FULL);
  };
}
