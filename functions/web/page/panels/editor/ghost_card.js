// The selection that is being rewritten, in its surroundings: what goes struck through, what comes as a ghost, until it is accepted or discarded.

import { el, icon, setText } from "../../view/dom.js";

const AROUND_CHARS = 60;
const TITLES = { streaming: "Rewriting the selection…", ready: "Rewritten selection", failed: "The selection was not rewritten" };

export class GhostCard {
  #title = el("h3", {});
  #before = el("span", {});
  #was = el("del", {});
  #now = el("ins", {});
  #after = el("span", {});
  #accept = el("button", { type: "button", class: "primary small" }, icon("check"), el("span", {}, "Accept"));
  #discard = el("button", { type: "button", class: "ghost small" }, icon("cross"), el("span", {}, "Discard"));
  #status = null;
  root = el("section", { class: "ghost-card", "aria-label": "Rewrite of the selection", hidden: true }, this.#title,
    el("p", { class: "ghost-text", dir: "auto", tabindex: 0 }, this.#before, this.#was, this.#now, this.#after),
    el("div", { class: "suggestion-buttons" }, this.#accept, this.#discard));

  /** `actions`: accept(), discard(). */
  constructor({ accept, discard }) {
    this.#accept.addEventListener("click", accept);
    this.#discard.addEventListener("click", discard);
  }

  /** `inline`: of the draft, or null; `text`: the document; `busy`: a run is on. */
  draw(inline, text, busy) {
    this.root.hidden = !inline;
    const status = inline && (inline.ready ? "ready" : busy ? "streaming" : "failed");
    if (inline) this.#drawText(inline, text, status);
    if (status === "ready" && this.#status !== "ready" && document.activeElement === document.body) this.#accept.focus();
    this.#status = status;
  }

  #drawText({ from, to, originalText, newText }, text, status) {
    setText(this.#title, TITLES[status]);
    setText(this.#before, text.slice(Math.max(0, from - AROUND_CHARS), from));
    setText(this.#was, originalText);
    setText(this.#now, newText);
    setText(this.#after, text.slice(to, to + AROUND_CHARS));
    this.root.dataset.status = status;
    this.#accept.disabled = status !== "ready";
  }
}
