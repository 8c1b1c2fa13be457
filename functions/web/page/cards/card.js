// The frame that every interrupt has: what kind, the question, the kind's own controls, cancel. Answered cards fold to one line.

import { el, freshId, icon, setText } from "../view/dom.js";
import { approvalCard } from "./approval.js";
import { genericCard } from "./generic.js";
import { inputCard } from "./input.js";
import { modalCard } from "./modal.js";
import { multiSelectCard } from "./multi_select.js";
import { selectCard } from "./select.js";
import { unlockCard } from "./unlock.js";

// [controls, icon, the word above the question]. A kind's controls: (record, answer, interrupt) → {body, focus?}.
const KINDS = {
  input: [inputCard, "reply", "Question"],
  select: [selectCard, "list", "Choose one"],
  multiSelect: [multiSelectCard, "list", "Choose any"],
  modal: [modalCard, "info", "Please decide"],
  approval: [approvalCard, "shield", "Approval needed"],
  unlock: [unlockCard, "lock", "Locked"],
};

/** An interrupt's kind: the payload's type, or approval for a bare confirmation; `generic` when this page has no card for it. */
export function kindOf({ reason, metadata }) {
  const type = metadata?.type ?? (reason === "confirmation" ? "approval" : reason);
  return Object.hasOwn(KINDS, type) ? type : "generic";
}

const isExpired = ({ expiresAt }) => Boolean(expiresAt) && Date.parse(expiresAt) <= Date.now();

export class Card {
  /** {status, payload?, label} once answered, else null. */
  answer = null;
  #focus = null;
  #summary = el("span", { class: "card-answer", dir: "auto" });
  #folded = el("div", { class: "card-folded", hidden: true }, icon("check"), this.#summary,
    el("button", { type: "button", class: "ghost small", on: { click: () => this.#change() } }, "Change"));
  #inside = el("div", { class: "card-inside" });

  /** `answered(card)` is called after each answer or cancellation. */
  constructor(interrupt, answered) {
    this.interrupt = interrupt;
    this.answered = answered;
    const kind = kindOf(interrupt);
    const [controls, symbol, word] = KINDS[kind] ?? [genericCard, "info", interrupt.reason || "Input needed"];
    const record = { ...interrupt.metadata, message: interrupt.message ?? interrupt.metadata?.message };
    const title = freshId("question");
    const { body, focus } = controls(record, (payload, label) => this.#settle("resolved", label, payload), interrupt);
    const question = el("h2", { id: title, class: "card-question", dir: "auto" }, record.title ?? record.message ?? "The agent waits for your answer");
    const cancel = el("button", { type: "button", class: "quiet small", on: { click: () => this.#settle("cancelled", "Cancelled") } }, "Cancel");
    this.#inside.append(...body.filter(Boolean));
    this.root = el("section", { class: "card", dataset: { kind }, role: "group", "aria-labelledby": title, tabindex: -1 },
      el("div", { class: "card-head" }, el("span", { class: "card-kind" }, icon(symbol), word), cancel), question, this.#inside, this.#folded);
    this.#focus = focus ?? this.root;
    if (isExpired(interrupt)) this.#expire();
  }

  focus() {
    (this.answer ? this.root : this.#focus).focus({ preventScroll: false });
  }

  #settle(status, label, payload) {
    this.answer = { status, label, payload };
    setText(this.#summary, label);
    this.#fold(true);
    this.answered(this);
  }

  /** Takes the answer back; what was typed is still there. */
  reopen() {
    this.answer = null;
    this.#fold(false);
  }

  #change() {
    this.reopen();
    this.answered(this);
  }

  #fold(folded) {
    this.#folded.hidden = !folded;
    this.#inside.hidden = folded;
    this.root.dataset.answered = folded ? this.answer.status : "";
  }

  /** An expired question can only be cancelled. */
  #expire() {
    this.#inside.inert = true;
    this.#focus = this.root;
    this.#inside.before(el("p", { class: "field-error" }, "This question has expired. It can only be cancelled."));
  }
}
