// input: one line or more of text → {value}.

import { el } from "../view/dom.js";
import { submitOnEnter } from "./fields.js";

export function inputCard(record, answer) {
  const field = el("textarea", { class: "field", rows: 2, dir: "auto", "aria-label": record.message ?? "Your answer", placeholder: record.placeholder ?? "" });
  const send = el("button", { type: "submit", class: "primary" }, "Send");
  const form = el("form", { class: "card-form", on: { submit: (event) => {
    event.preventDefault();
    answer({ value: field.value }, field.value || "(empty)");
  } } }, field, el("div", { class: "card-buttons" }, send));
  submitOnEnter(field, form);
  return { body: [form], focus: field };
}
