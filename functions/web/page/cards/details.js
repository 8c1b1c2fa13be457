// An approval's details as a list of names and values, whatever shape they came in.

import { el } from "../view/dom.js";

const plain = (value) => value === null || typeof value !== "object";

function value(content) {
  if (Array.isArray(content) && content.every(plain)) return content.length ? content.map(String).join(", ") : "none";
  return plain(content) ? String(content) : el("pre", {}, JSON.stringify(content, null, 2));
}

const row = (name, content) => el("div", { class: "detail" }, el("dt", {}, name), el("dd", { dir: "auto" }, value(content)));

function rowOf(entry, index) {
  if (plain(entry)) return row(`${index + 1}`, entry);
  const name = entry.label ?? entry.name ?? entry.key;
  return name !== undefined && "value" in entry ? row(String(name), entry.value) : row(`${index + 1}`, entry);
}

/** A definition list; null when there is nothing to list. */
export function details(content) {
  if (content === null || content === undefined || content === "") return null;
  if (plain(content)) return el("p", { class: "details-text", dir: "auto" }, String(content));
  const rows = Array.isArray(content) ? content.map(rowOf) : Object.entries(content).map(([name, inner]) => row(name, inner));
  return rows.length ? el("dl", { class: "details" }, ...rows) : null;
}
