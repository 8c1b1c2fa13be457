// approval: what is going to happen, listed; approve, or reject with a reason → {approved, reason?}.

import { el } from "../view/dom.js";
import { details } from "./details.js";

export function approvalCard(record, answer) {
  const reason = el("input", { class: "field", type: "text", dir: "auto", "aria-label": "Reason for rejecting", placeholder: "Reason (optional)" });
  const confirm = el("form", { class: "free-text", hidden: true, on: { submit: (event) => {
    event.preventDefault();
    const text = reason.value.trim();
    answer({ approved: false, ...(text && { reason: text }) }, text ? `Rejected: ${text}` : "Rejected");
  } } }, reason, el("button", { type: "submit", class: "danger" }, "Reject"));
  const reject = el("button", { type: "button", class: "ghost", "aria-expanded": "false", on: { click: () => {
    confirm.hidden = !confirm.hidden;
    reject.setAttribute("aria-expanded", String(!confirm.hidden));
    if (!confirm.hidden) reason.focus();
  } } }, "Reject…");
  const approve = el("button", { type: "button", class: "primary", on: { click: () => answer({ approved: true }, "Approved") } }, "Approve");
  return { body: [details(record.details), el("div", { class: "card-buttons" }, approve, reject), confirm] };
}
