// modal: a title, a text, and one button for each action → {action}.

import { Markdown } from "../markdown/render.js";
import { el } from "../view/dom.js";

export function modalCard(record, answer) {
  const text = el("div", { class: "prose", dir: "auto" });
  new Markdown(text).update(record.body ?? "");
  const buttons = (record.actions ?? []).map((action, index) =>
    el("button", { type: "button", class: index ? "ghost" : "primary", dir: "auto", on: { click: () => answer({ action }, action) } }, action));
  return { body: [text, el("div", { class: "card-buttons" }, ...buttons)] };
}
