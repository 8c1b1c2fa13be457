// Where a message is written. Enter sends, Shift+Enter breaks the line, Escape stops the run; the button is Send or Stop.

import { el, icon } from "./dom.js";
import { submitOnEnter } from "../cards/fields.js";

const MAX_ROWS = 8;
const PLACEHOLDER = { idle: "Write a message…", running: "The agent is working…", connecting: "Reading the thread…", waiting: "Answer the question above to go on", unavailable: "This agent is not available here" };

export class Composer {
  #field = el("textarea", { id: "message", rows: 1, dir: "auto", "aria-label": "Message", "aria-keyshortcuts": "Enter" });
  #send = el("button", { type: "submit", class: "round primary", "aria-label": "Send", title: "Send (Enter)" }, icon("send"));
  #stop = el("button", { type: "button", class: "round", "aria-label": "Stop", title: "Stop (Esc)", hidden: true }, icon("stop"));
  root = el("form", { class: "composer", "aria-label": "Message to the agent" }, this.#field, this.#send, this.#stop);

  /** `actions`: send(text), stop(). */
  constructor({ send, stop }) {
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#send.disabled || this.#send.hidden) return;
      const text = this.#field.value.trim();
      this.draft("");
      send(text);
    });
    submitOnEnter(this.#field, this.root);
    this.#field.addEventListener("input", () => this.#typed());
    this.#stop.addEventListener("click", stop);
  }

  /** Puts `text` into the field, e.g. a message that could not be sent. */
  draft(text) {
    this.#field.value = text;
    this.#typed();
  }

  get text() {
    return this.#field.value;
  }

  focus() {
    this.#field.focus();
  }

  /** `status`: idle, running, connecting or waiting (for an answer on a card), unavailable. */
  draw(status) {
    const busy = status === "running" || status === "connecting";
    const hadFocus = this.root.contains(document.activeElement);
    this.#field.placeholder = PLACEHOLDER[status];
    this.#field.disabled = status === "waiting" || status === "unavailable";
    this.#send.hidden = busy;
    this.#stop.hidden = !busy;
    this.#allowSend();
    if (hadFocus && !this.root.contains(document.activeElement) && status !== "waiting") this.focus();
  }

  // Browsers without `field-sizing` grow by rows.
  #typed() {
    this.#field.rows = Math.min(MAX_ROWS, this.#field.value.split("\n").length);
    this.#allowSend();
  }

  #allowSend() {
    this.#send.disabled = this.#field.disabled || !this.#field.value.trim();
  }
}
