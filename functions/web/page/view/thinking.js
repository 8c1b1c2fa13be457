// A model's reasoning: dim, collapsible, open while it streams. It stays open afterwards, because closing it would move the text below.

import { Markdown } from "../markdown/render.js";
import { el, icon, setText } from "./dom.js";

export class Thinking {
  #started = performance.now();
  #label = el("span", {}, "Thinking");
  #text = el("div", { class: "prose" });
  #box = el("div", { class: "thinking-text", tabindex: 0, role: "region", "aria-label": "Thinking" }, this.#text);
  #markdown = new Markdown(this.#text);
  root = el("details", { class: "thinking" }, el("summary", {}, icon("chevron"), this.#label), this.#box);

  /** A block that is not streaming when first seen came from the checkpoint: it starts closed. */
  constructor(message, transcript) {
    this.root.open = transcript.open.has(message.id);
  }

  update(message, { transcript }) {
    const growing = transcript.open.has(message.id);
    if (!growing && this.root.classList.contains("growing")) this.#finish();
    this.root.classList.toggle("growing", growing);
    this.#markdown.update(message.content ?? "");
    if (growing) this.#box.scrollTop = this.#box.scrollHeight;
  }

  #finish() {
    const seconds = (performance.now() - this.#started) / 1000;
    setText(this.#label, seconds < 1 ? "Thought for a moment" : `Thought for ${seconds.toFixed(seconds < 10 ? 1 : 0)} s`);
  }
}
