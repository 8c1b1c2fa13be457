// The suggestions, as cards: what was, what comes, the agent's note. Drawn again only when one came, went or turned stale.

import { el, icon, setText } from "../../view/dom.js";
import { editBetween } from "./line_ends.js";

const SHOWN = 50;
const SHOWN_CHARS = 2000;

const pick = (name, text, kind, click, label) => el("button", { type: "button", class: `${kind} small`, "aria-label": label, on: { click } }, icon(name), el("span", {}, text));

export class SuggestionList {
  #actions;
  #title = el("h3", { role: "status" });
  #all;
  #none;
  #items = el("ol", { class: "suggestions" });
  #more = el("button", { type: "button", class: "ghost small", hidden: true });
  #limit = SHOWN;
  #drawn = "";
  root;

  /** `actions`: accept(sid), reject(sid), show(suggestion), acceptAll(), rejectAll(). */
  constructor(actions) {
    this.#actions = actions;
    this.#all = pick("check", "Accept all", "primary", actions.acceptAll);
    this.#none = pick("cross", "Reject all", "ghost", actions.rejectAll);
    this.#more.addEventListener("click", () => (this.#limit += SHOWN) && this.#drawItems());
    this.root = el("section", { class: "suggestion-list", "aria-label": "Suggestions" },
      el("div", { class: "suggestion-head" }, this.#title, el("span", { class: "space" }), this.#all, this.#none), this.#items, this.#more);
  }

  /** New suggestions have come, perhaps none. */
  announce(count) {
    this.#limit = SHOWN;
    this.#drawn = "";
    this.checked = count === 0;
  }

  draw(draft, busy) {
    const { suggestions } = draft;
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
  const { from, to, text } = editBetween(originalText, newText) ?? { from: 0, to: 0, text: "" };
  return el("div", { class: "suggestion-diff", tabindex: 0, role: "group", "aria-label": "Change", dir: "auto" },
    originalText ? side("del", originalText, from, to) : null, newText ? side("ins", newText, from, from + text.length) : null);
}

/** The whole of it, with the part that differs marked. */
function side(tag, text, from, to) {
  const rest = text.length > SHOWN_CHARS ? ` … ${(text.length - SHOWN_CHARS).toLocaleString("en")} more characters` : "";
  const parts = [text.slice(0, from), text.slice(from, to), text.slice(to)].map((part) => part.slice(0, SHOWN_CHARS));
  return el(tag, {}, parts[0], parts[1] ? el("mark", {}, parts[1]) : null, parts[2], rest);
}
