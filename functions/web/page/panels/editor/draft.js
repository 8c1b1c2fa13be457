// The document and what is suggested for it, without a screen. Offsets are UTF-16 code units in `text`, which keeps its own line ends.
// Methods that may refuse return null when done, else why: EDITOR_BUSY, BASELINE_STALE, STALE.

import { editBetween, endOf, toDisplay, toSource, withEnds } from "./line_ends.js";

const hunkKey = (from, originalText) => `${from}:${originalText}`;

const spliced = (text, { from, to, text: inserted }) => text.slice(0, from) + inserted + text.slice(to);

/** A suggestion after an edit: one that stands behind it moves along. It is stale while the text in its place is not the one it is about. */
function moved(suggestion, edit, text) {
  const from = suggestion.from + (edit.to <= suggestion.from ? edit.text.length - (edit.to - edit.from) : 0);
  const gone = suggestion.gone || (edit.from < suggestion.from && suggestion.from < edit.to);
  return { ...suggestion, from, to: from + suggestion.originalText.length, gone, stale: !fits({ ...suggestion, from, gone }, text) };
}

/** Lines that come have no text to be known by: they fit between two lines, while the place has not been deleted. */
function fits({ from, originalText, gone }, text) {
  if (originalText === "") return !gone && (from === 0 || text[from - 1] === "\n");
  return text.startsWith(originalText, from);
}

const NO_EDIT = { from: 0, to: 0, text: "" };

export class Draft {
  text;
  /** [{sid, summary, originalText, newText, from, to, stale, gone}] in order of place. */
  suggestions;
  /** Text and places before anything was typed: what the textarea's own undo comes back to. A reload empties that, so it is not kept. */
  #settled;
  /** The selection that is being rewritten: {from, to, originalText, newText, ready}, or null. */
  inline = null;
  #past = [];

  constructor({ text = "", suggestions = [] } = {}) {
    this.#settle(text, suggestions);
  }

  get shown() {
    return toDisplay(this.text);
  }

  get canUndo() {
    return !this.inline && this.#past.at(-1)?.after === this.text;
  }

  /** Another document: what was suggested for the old one is gone. */
  replace(text) {
    this.#settle(text, []);
    this.inline = null;
    this.#past = [];
  }

  /** The textarea holds `shown` now; lines that were not touched keep their ends. */
  typed(shown) {
    const edit = editBetween(this.shown, shown);
    if (!edit) return;
    const { text } = this;
    this.#apply({ from: toSource(text, edit.from), to: toSource(text, edit.to), text: withEnds(edit.text, endOf(text)) });
  }

  /** Takes the value of a `writer_change_summaries` event. */
  offer({ changes, baseline }) {
    if (this.inline) return "EDITOR_BUSY";
    if (baseline !== this.text) return "BASELINE_STALE";
    const suggestions = changes.map(({ hintFrom, originalText, newText, summary }) => {
      const place = { from: hintFrom, to: hintFrom + originalText.length, originalText };
      return { sid: hunkKey(hintFrom, originalText), summary, newText, ...place, gone: false, stale: !fits(place, this.text) };
    });
    this.#settle(this.text, suggestions);
    return null;
  }

  accept(sid) {
    const one = this.suggestions.find((suggestion) => suggestion.sid === sid);
    if (this.inline) return "EDITOR_BUSY";
    if (!one || one.stale) return "STALE";
    this.#acceptAll([one]);
    return null;
  }

  /** From the back, so that no change moves one that is still to come. Those that are stale stay. */
  acceptAll() {
    if (this.inline) return "EDITOR_BUSY";
    this.#acceptAll(this.suggestions.filter(({ stale }) => !stale).reverse());
    return null;
  }

  reject(sid) {
    this.suggestions = this.suggestions.filter((suggestion) => suggestion.sid !== sid);
  }

  /** Back to before the last acceptance, as long as nothing was typed since. */
  undo() {
    if (!this.canUndo) return;
    const { text, suggestions } = this.#past.pop();
    this.#settle(text, suggestions);
  }

  /** The textarea's selection is going to be rewritten; returns its text, or "" when there is nothing to rewrite. */
  startInline(shownFrom, shownTo) {
    const [from, to] = [toSource(this.text, shownFrom), toSource(this.text, shownTo)];
    const originalText = this.text.slice(from, to);
    if (this.inline || !originalText.trim()) return "";
    this.inline = { from, to, originalText, newText: "", ready: false };
    return originalText;
  }

  /** The rewrite takes the selection's place, between the blanks that the selection had around it. */
  acceptInline() {
    const { from, to, originalText, newText } = this.inline;
    if (this.text.slice(from, to) !== originalText) return "STALE";
    this.inline = null;
    const lead = originalText.slice(0, originalText.length - originalText.trimStart().length);
    const trail = originalText.slice(originalText.trimEnd().length);
    const { text, suggestions } = this;
    this.#apply({ from, to, text: lead + withEnds(newText.trim(), endOf(text)) + trail });
    this.#settle(this.text, this.suggestions);
    this.#past.push({ text, suggestions, after: this.text });
    return null;
  }

  discardInline() {
    this.inline = null;
  }

  /** What a reload needs. */
  toJSON() {
    return { text: this.text, suggestions: this.suggestions };
  }

  /** `chosen` stands from the back to the front, so the places of all are those of the text as it is. */
  #acceptAll(chosen) {
    if (!chosen.length) return;
    const { text, suggestions } = this;
    const edits = chosen.map(({ from, to, newText }) => ({ from, to, text: newText }));
    const taken = new Set(chosen.map(({ sid }) => sid));
    let [end, tail] = [text.length, ""];
    for (const edit of edits) [end, tail] = [edit.from, edit.text + text.slice(edit.to, end) + tail];
    const after = text.slice(0, end) + tail;
    const left = suggestions.filter(({ sid }) => !taken.has(sid));
    this.#settle(after, left.map((one) => edits.reduce((moving, edit) => moved(moving, edit, after), one)));
    this.#past.push({ text, suggestions, after });
  }

  #settle(text, suggestions) {
    Object.assign(this, { text, suggestions });
    this.#settled = { text, places: new Map(suggestions.map((one) => [one.sid, one])) };
  }

  /** What was deleted and comes back has the place it had: edits one after the other lose it, all of them as one do not. */
  #apply(edit) {
    const text = spliced(this.text, edit);
    const { text: before, places } = this.#settled;
    const whole = editBetween(before, text) ?? NO_EDIT;
    this.suggestions = this.suggestions.map((one) => {
      const found = moved(places.get(one.sid), whole, text);
      return found.stale ? moved(one, edit, text) : found;
    });
    this.text = text;
  }
}
