// One line of the events pane: time, type, a glimpse; the whole JSON on demand.

import { family } from "../event_log.js";
import { layOut } from "../json.js";
import { copyButton } from "./copy.js";
import { el } from "./dom.js";

const GLIMPSE_CHARS = 80;
const KINDS = { run: "run", resume: "run · resume", connect: "connect" };

/** The part of an event that tells it from its neighbours. */
function glimpse(event) {
  const { delta, toolCallName, stepName, name, outcome, code, message, activityType } = event;
  const told = typeof delta === "string" ? JSON.stringify(delta) : delta ?? toolCallName ?? stepName ?? name ?? outcome?.type ?? code ?? message ?? activityType;
  return (typeof told === "string" ? told : JSON.stringify(told) ?? "").slice(0, GLIMPSE_CHARS);
}

export const timeText = (ms) => (ms < 10_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`);

/** A line between events: a request leaves, or broke. */
function requestRow({ run, kind }) {
  return el("li", { class: "request-row" }, `${run} · ${KINDS[kind] ?? kind}`);
}

export function eventRow(record) {
  if (record.event === null) return requestRow(record);
  const button = el("button", { type: "button", class: "event-head", tabindex: -1, "aria-expanded": "false" },
    el("span", { class: "event-time" }, timeText(record.at)),
    el("span", { class: "event-type", dataset: { family: family(record.event.type) } }, record.event.type),
    el("span", { class: "event-glimpse" }, glimpse(record.event)));
  const row = el("li", { class: "event-row" }, button);
  button.addEventListener("click", () => toggle(row, button, record));
  return row;
}

function toggle(row, button, record) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) return row.lastChild.remove();
  const json = layOut(record.json);
  row.append(el("div", { class: "event-json" }, copyButton(() => record.json, "Copy event"), el("pre", { tabindex: 0 }, json)));
}
