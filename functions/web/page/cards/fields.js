// Form parts that several cards use.

import { el } from "../view/dom.js";

/** Enter sends, Shift+Enter is a line break; Enter that ends an input-method composition does neither. */
export function submitOnEnter(field, form) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/** A free-text line with its own button; `take(text)` gets what was typed, trimmed and not empty. */
export function freeText(label, button, take) {
  const field = el("input", { class: "field", type: "text", dir: "auto", "aria-label": label, placeholder: label });
  const form = el("form", { class: "free-text", on: { submit: (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return field.focus();
    field.value = "";
    take(text);
  } } }, field, el("button", { type: "submit", class: "ghost" }, button));
  return { form, field };
}

/** Label and description of an option, as lines. A bare string is its own label and value. */
export function optionOf(option) {
  const { label, value, description } = typeof option === "object" ? option : { label: String(option), value: option };
  const text = label ?? String(value);
  return { value: value ?? text, label: text, nodes: [el("span", { class: "option-label" }, text), description ? el("span", { class: "option-note" }, description) : null] };
}
