// The list of agents, as links: an agent can be opened in another tab, and the address keeps the choice.

import { el } from "./dom.js";

export const offlineBadge = () =>
  el("span", { class: "badge", title: "A scripted model without a key: it shows how the agent works, its answers are canned." }, "offline model");

export const unavailableBadge = () => el("span", { class: "badge" }, "not available");

function entry(agent) {
  return el("li", {},
    el("a", { href: `#${encodeURIComponent(agent.name)}`, class: "agent", dataset: { agent: agent.name } },
      el("span", { class: "agent-title" }, agent.title),
      el("span", { class: "agent-name" }, agent.name),
      el("span", { class: "agent-description" }, agent.description),
      agent.unavailable ? unavailableBadge() : agent.offline ? offlineBadge() : null));
}

export class AgentPicker {
  constructor(root, agents) {
    this.links = agents.map(entry);
    root.replaceChildren(...this.links);
  }

  draw(name) {
    for (const item of this.links) {
      const link = item.firstChild;
      if (link.dataset.agent === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
}
