// select: one of the options, or a text of one's own → {value}.

import { el } from "../view/dom.js";
import { freeText, optionOf } from "./fields.js";

export function selectCard(record, answer) {
  const options = (record.options ?? []).map(optionOf).map(({ value, label, nodes }) =>
    el("button", { type: "button", class: "option", dir: "auto", on: { click: () => answer({ value }, label) } }, ...nodes));
  const own = freeText("Something else…", "Send", (text) => answer({ value: text }, text));
  return { body: [el("div", { class: "options" }, ...options), own.form], focus: options[0] ?? own.field };
}
