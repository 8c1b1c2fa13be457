// The open questions: one card each. A single one is sent as soon as it is answered, several are sent together, because a resume must cover all.

import { Card } from "../cards/card.js";
import { el, setText } from "./dom.js";

export class Interrupts {
  #cards = [];
  #interrupts = null;
  #count = el("span", { class: "send-count" });
  #send = el("button", { type: "button", class: "primary", on: { click: () => this.#submit() } }, "Send answers");
  #bar = el("div", { class: "send-bar", hidden: true }, this.#count, this.#send);

  /** `send(answers)`: every answer at once. */
  constructor(root, send) {
    this.root = root;
    this.send = send;
  }

  /** Shows `interrupts` (kept while hidden, so that typed text survives a failed request). True when they newly appear. */
  draw(interrupts, visible) {
    const appears = visible && interrupts.length > 0 && (this.root.hidden || interrupts !== this.#interrupts);
    if (interrupts !== this.#interrupts) this.#rebuild(interrupts);
    else if (appears && this.#cards.length === 1) this.#cards[0].reopen(); // it could not be sent
    this.root.hidden = !visible || interrupts.length === 0;
    return appears;
  }

  focus() {
    const card = this.#cards.find(({ answer }) => !answer) ?? this.#cards[0];
    card.focus();
    card.root.scrollIntoView({ block: "nearest" });
  }

  #rebuild(interrupts) {
    this.#interrupts = interrupts;
    this.#cards = interrupts.map((interrupt) => new Card(interrupt, () => this.#answered()));
    this.root.replaceChildren(...this.#cards.map(({ root }) => root), this.#bar);
    this.#bar.hidden = this.#cards.length < 2;
    this.#countAnswers();
  }

  #answered() {
    this.#countAnswers();
    if (this.#cards.length === 1 && this.#cards[0].answer) return this.#submit();
    const next = this.#cards.find(({ answer }) => !answer);
    if (next) next.focus();
    else this.#send.focus();
  }

  #countAnswers() {
    const answered = this.#cards.filter(({ answer }) => answer).length;
    setText(this.#count, `${answered} of ${this.#cards.length} answered`);
    this.#send.disabled = answered < this.#cards.length;
  }

  #submit() {
    this.send(this.#cards.map(({ interrupt, answer }) => ({ interrupt, ...answer })));
  }
}
