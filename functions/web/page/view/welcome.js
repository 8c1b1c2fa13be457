// What an empty thread shows: the agent in two sentences, and messages to start with.

import { offlineBadge, unavailableBadge } from "./agent_picker.js";
import { el } from "./dom.js";

export function welcome(agent, send) {
  const mark = el("div", { class: "welcome-mark", "aria-hidden": "true" }, agent.title.slice(0, 1).toUpperCase());
  if (agent.unavailable) {
    return [mark, el("h2", {}, agent.title), el("p", { class: "welcome-text" }, agent.description), el("p", {}, unavailableBadge()), el("p", { class: "welcome-text" }, agent.unavailable)];
  }
  const prompts = agent.prompts.map((text) => el("li", {}, el("button", { type: "button", class: "prompt", dir: "auto", on: { click: () => send(text) } }, text)));
  return [
    mark,
    el("h2", {}, agent.title),
    el("p", { class: "welcome-text" }, agent.description),
    agent.offline ? el("p", {}, offlineBadge()) : null,
    el("ul", { class: "prompts", "aria-label": "Suggested messages" }, ...prompts),
  ].filter(Boolean);
}
