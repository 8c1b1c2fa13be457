// The suggestions, as cards: what was, what comes, the agent's note. Drawn again only when one came, went or turned stale.

import { el, icon, setText } from "../../view/dom.js";
import { editBetween } from "./line_ends.js";

const SHOWN = 50;
const SHOWN_CHARS = 2000;

const pick = (name, text, kind, click, label) => el("button", { type: "button", class: `${kind} small`, "aria-label": label, on: { click } }, name && icon(name), el("span", {}, text));

export class SuggestionList {
  #actions;
  #title = el("h3", { role: "status", tabindex: -1 });
  #all;
  #none;
  #items = el("ol", { class: "suggestions" });
  #more = el("button", { type: "button", class: "ghost small", hidden: true });
  #limit = SHOWN;
  #drawn = "";
  #seen = null;
  root;

  /** `actions`: accept(sid), reject(sid), show(suggestion), acceptAll(), rejectAll(). */
  constructor(actions) {
    this.#actions = actions;
    this.#all = pick("check", "Accept all", "primary", actions.acceptAll);
    this.#none = pick(null, "Reject all", "quiet", actions.rejectAll);
    this.#more.addEventListener("click", () => (this.#limit += SHOWN) && this.#drawItems());
    this.root = el("section", { class: "suggestion-list", "aria-label": "Suggestions" },
      el("div", { class: "suggestion-head" }, this.#title, el("span", { class: "space" }), this.#all, this.#none), this.#items, this.#more);
  }

  /** New suggestions have come, perhaps none. */
  announce(count) {
    this.#limit = SHOWN;
    this.#drawn = "";
    this.#seen = null;
    this.checked = count === 0;
  }

  draw(draft, busy) {
    const { suggestions } = draft;
    if (suggestions === this.#seen && busy === this.busy) return;
    this.#seen = suggestions;
    const state = suggestions.map(({ sid, stale }) => `${sid}${stale}`).join("\0") + busy;
    this.draft = draft;
    this.busy = busy;
    if (state === this.#drawn) return;
    this.#drawn = state;
    this.#drawItems();
  }

  #drawItems() {
    const { suggestions, text } = this.draft;
    const stale = suggestions.filter((one) => one.stale).length;
    const count = suggestions.length === 1 ? "1 suggestion" : `${suggestions.length} suggestions`;
    setText(this.#title, suggestions.length ? `${count}${stale ? `, ${stale} stale` : ""}` : this.checked ? "Nothing to change" : "");
    this.#all.hidden = this.#none.hidden = !suggestions.length;
    this.#all.disabled = this.busy || stale === suggestions.length;
    const focused = [...this.#items.children].findIndex((item) => item.contains(document.activeElement));
    this.#items.replaceChildren(...this.#cards(suggestions.slice(0, this.#limit), text));
    if (focused >= 0) this.#refocus(focused);
    const rest = suggestions.length - this.#limit;
    this.#more.hidden = rest <= 0;
    setText(this.#more, `Show ${Math.min(rest, SHOWN)} more of ${rest}`);
  }

  // The card that took the place of the one that was answered, else the nearest.
  #refocus(index) {
    const item = this.#items.children[Math.min(index, this.#items.children.length - 1)];
    (item?.querySelector("button:enabled") ?? this.#title).focus();
  }

  #cards(suggestions, text) {
    let [line, at] = [1, 0];
    return suggestions.map((one) => {
      for (let end = text.indexOf("\n", at); end !== -1 && end < one.from; end = text.indexOf("\n", at)) [line, at] = [line + 1, end + 1];
      return this.#card(one, line);
    });
  }

  #card(one, line) {
    const note = one.summary || (one.originalText ? (one.newText ? "Changed" : "Removed") : "Added");
    const buttons = [
      pick("check", "Accept", "primary", () => this.#actions.accept(one.sid), `Accept: ${note}, line ${line}`),
      pick("cross", "Reject", "ghost", () => this.#actions.reject(one.sid), `Reject: ${note}, line ${line}`),
      pick("down", "Show", "quiet", () => this.#actions.show(this.draft.suggestions.find(({ sid }) => sid === one.sid)), `Show line ${line} in the document`),
    ];
    buttons[0].disabled = one.stale || this.busy;
    return el("li", { class: "suggestion", dataset: { stale: one.stale } },
      el("p", { class: "suggestion-note" }, el("strong", { dir: "auto" }, note), el("span", {}, one.stale ? `line ${line} · stale: the text has changed` : `line ${line}`)),
      difference(one), el("div", { class: "suggestion-buttons" }, ...buttons));
  }
}

function difference({ originalText, newText }) {
  const [was, now] = pieces(originalText, newText);
  return el("div", { class: "suggestion-diff", tabindex: 0, role: "group", "aria-label": "Change", dir: "auto" }, side("del", was), side("ins", now));
}

/** Both sides as [[text, whether it differs], …]: line by line where the lines pair up, else as a whole. */
function pieces(was, now) {
  const [before, after] = [was.slice(0, SHOWN_CHARS), now.slice(0, SHOWN_CHARS)];
  const [old, fresh] = [lines(before), lines(after)];
  const pairs = old.length === fresh.length ? old.map((line, i) => [line, fresh[i]]) : [[before, after]];
  const sides = [[], []];
  for (const [a, b] of pairs) {
    const edit = editBetween(a, b) ?? { from: a.length, to: a.length, text: "" };
    sides[0].push(...parted(a, edit.from, edit.to));
    sides[1].push(...parted(b, edit.from, edit.from + edit.text.length));
  }
  return [[...sides[0], ...rest(was)], [...sides[1], ...rest(now)]];
}

const lines = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];
const parted = (text, from, to) => [[text.slice(0, from), false], [text.slice(from, to), true], [text.slice(to), false]];
const rest = (text) => (text.length > SHOWN_CHARS ? [[` … ${(text.length - SHOWN_CHARS).toLocaleString("en")} more characters`, false]] : []);

function side(tag, parts) {
  const shown = parts.filter(([text]) => text).map(([text, differs]) => (differs ? el("mark", {}, text) : text));
  return shown.length ? el(tag, {}, ...shown) : null;
}
