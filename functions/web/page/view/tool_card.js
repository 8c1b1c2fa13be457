// One tool call: its name, its arguments as they are written, its progress, its result.

import { layOut } from "../json.js";
import { resultView } from "../results/registry.js";
import { copyButton } from "./copy.js";
import { el, icon, setText } from "./dom.js";

const WORDS = { writing: "writing arguments", running: "running", waiting: "waiting for you", done: "done", failed: "failed", none: "no result" };

function statusOf(call, { transcript, busy, waitingFor }) {
  const result = transcript.results.get(call.id);
  if (transcript.open.has(call.id)) return "writing";
  if (result) return result.error ? "failed" : "done";
  if (busy) return "running";
  return waitingFor.has(call.id) || waitingFor.has(undefined) ? "waiting" : "none"; // undefined: a question that names no call
}

export class ToolCard {
  #name = el("span", { class: "tool-name" });
  #status = el("span", { class: "tool-status" });
  #arguments = el("code");
  #progress = el("p", { class: "tool-progress", hidden: true });
  #result = el("code");
  #raw = el("pre", { tabindex: 0, role: "region", "aria-label": "Result" }, this.#result);
  #rawButton = el("button", { type: "button", class: "ghost small text-toggle", hidden: true, on: { click: () => this.#showRaw(this.#raw.hidden) } });
  #view = el("div", { class: "tool-view", hidden: true });
  #shown = null;
  #resultBox = el("div", { class: "tool-result", hidden: true },
    el("div", { class: "tool-label" }, "Result", this.#rawButton, copyButton(() => this.#result.textContent, "Copy result")),
    this.#view, this.#raw);
  #argumentsBox = el("div", {},
    el("div", { class: "tool-label" }, "Arguments"),
    el("pre", { tabindex: 0, role: "region", "aria-label": "Arguments" }, this.#arguments));
  root = el("details", { class: "tool", open: true },
    el("summary", {}, icon("tool"), this.#name, this.#status, icon("chevron")),
    el("div", { class: "tool-body" }, this.#argumentsBox, this.#progress, this.#resultBox));

  update(call, context) {
    const status = statusOf(call, context);
    this.root.dataset.status = status;
    setText(this.#name, call.function.name);
    setText(this.#status, WORDS[status]);
    setText(this.#arguments, layOut(call.function.arguments) || "{}");
    this.#showResult(call.function.name, context.transcript.results.get(call.id));
    this.#showProgress(context.transcript.find(`tool-progress:${call.id}`));
  }

  #showResult(tool, result) {
    this.#resultBox.hidden = !result;
    if (!result || this.#shown === result.content) return;
    this.#shown = result.content;
    setText(this.#result, layOut(String(result.content)) || "(empty)");
    const view = result.error ? null : resultView(tool, String(result.content));
    this.#view.replaceChildren(...(view ? [view] : []));
    this.#view.hidden = this.#rawButton.hidden = !view;
    this.#showRaw(!view);
  }

  /** The text of a result that has a view is there on demand. */
  #showRaw(shown) {
    this.#raw.hidden = !shown;
    this.#rawButton.setAttribute("aria-expanded", String(shown));
    setText(this.#rawButton, shown ? "Hide text" : "Show text");
  }

  #showProgress(activity) {
    this.#progress.hidden = !activity;
    if (activity) setText(this.#progress, describe(activity.content));
  }
}

/** A progress record in one line: its text if it has one, else its JSON. */
function describe(content) {
  const text = content?.message ?? content?.text ?? content?.delta ?? content;
  return typeof text === "string" ? text : JSON.stringify(text);
}
