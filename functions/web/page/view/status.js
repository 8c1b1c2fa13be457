// The line under the conversation: what happens now, or how the last run ended. It keeps its height, so nothing jumps.

import { el, setText } from "./dom.js";

const OUTCOMES = { success: "Done", interrupt: "Paused", cancelled: "Cancelled", error: "Failed" };

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function tokens(usage) {
  const total = (usage ?? []).reduce((sum, { totalTokens, inputTokens = 0, outputTokens = 0 }) => sum + (totalTokens ?? inputTokens + outputTokens), 0);
  return total ? `${total.toLocaleString("en")} tokens` : null;
}

function working({ status, transcript }) {
  if (status === "connecting") return "Reading the thread";
  const steps = [...transcript.steps].map((step) => step.split("/").at(-1));
  return ["Working", ...steps].join(" · ");
}

function ended({ last }) {
  return last ? [OUTCOMES[last.outcome] ?? last.outcome, seconds(last.ms), tokens(last.usage)].filter(Boolean).join(" · ") : "";
}

export class StatusLine {
  #dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
  #text = el("span");
  root = el("p", { class: "status-line" }, this.#dots, this.#text);

  draw(session) {
    this.#dots.hidden = !session.busy;
    this.root.dataset.outcome = session.busy ? "" : session.last?.outcome ?? "";
    setText(this.#text, session.busy ? working(session) : ended(session));
  }
}
