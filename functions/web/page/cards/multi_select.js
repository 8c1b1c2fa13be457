// multiSelect: any number of the options and of texts of one's own, also none → {values}.

import { el } from "../view/dom.js";
import { freeText, optionOf } from "./fields.js";

function choice({ value, label, nodes }, checked = false) {
  const box = el("input", { type: "checkbox", checked });
  return { box, value, label, root: el("label", { class: "option check", dir: "auto" }, box, el("span", { class: "option-text" }, ...nodes)) };
}

export function multiSelectCard(record, answer) {
  const choices = (record.options ?? []).map((option) => choice(optionOf(option)));
  const list = el("div", { class: "options", role: "group", "aria-label": record.message ?? "Options" }, ...choices.map(({ root }) => root));
  const add = (text) => {
    const own = choice(optionOf(text), true);
    choices.push(own);
    list.append(own.root);
  };
  const own = freeText("Add something else…", "Add", add);
  const send = el("button", { type: "button", class: "primary", on: { click: () => {
    if (own.field.value.trim()) own.form.requestSubmit(); // what is typed counts, added or not
    const picked = choices.filter(({ box }) => box.checked);
    answer({ values: picked.map(({ value }) => value) }, picked.map(({ label }) => label).join(", ") || "(none)");
  } } }, "Send selection");
  return { body: [list, own.form, el("div", { class: "card-buttons" }, send)], focus: choices[0]?.box ?? own.field };
}
