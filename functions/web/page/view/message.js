// One entry of the conversation, by role. Each view has `root` and `update(message, context)`; context: {transcript, busy, waitingFor}.

import { layOut } from "../json.js";
import { Markdown } from "../markdown/render.js";
import { copyButton } from "./copy.js";
import { el, icon, setText } from "./dom.js";
import { Thinking } from "./thinking.js";
import { ToolCard } from "./tool_card.js";

const plain = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n"));

class UserMessage {
  #text = el("div", { class: "bubble", dir: "auto" });
  root = el("article", { class: "entry user", "aria-label": "You" }, this.#text);

  update(message) {
    setText(this.#text, plain(message.content));
  }
}

class AssistantMessage {
  #source = "";
  #name = el("p", { class: "from", hidden: true });
  #text = el("div", { class: "prose", dir: "auto" });
  #tools = el("div", { class: "tools" });
  #actions = el("div", { class: "entry-actions", hidden: true }, copyButton(() => this.#source, "Copy answer"));
  #markdown = new Markdown(this.#text);
  #cards = new Map();
  root = el("article", { class: "entry assistant", "aria-label": "Agent" }, this.#name, this.#text, this.#actions, this.#tools);

  update(message, context) {
    this.#source = plain(message.content);
    this.#markdown.update(this.#source);
    this.root.classList.toggle("growing", context.transcript.open.has(message.id));
    this.#actions.hidden = !this.#source;
    const subagent = context.transcript.subagents.get(message.subagentRunId);
    this.#name.hidden = !subagent;
    if (subagent) setText(this.#name, subagent.name);
    for (const call of message.toolCalls ?? []) this.#card(call.id).update(call, context);
  }

  #card(id) {
    if (!this.#cards.has(id)) {
      this.#cards.set(id, new ToolCard());
      this.#tools.append(this.#cards.get(id).root);
    }
    return this.#cards.get(id);
  }
}

/** A name and JSON on demand: custom events and activities. */
class Record {
  #name = el("span", { class: "record-name" });
  #preview = el("span", { class: "record-preview" });
  #json = el("code");
  root = el("details", { class: "entry record" }, el("summary", {}, icon("spark"), this.#name, this.#preview),
    el("pre", { tabindex: 0, role: "region", "aria-label": "Value" }, this.#json));

  update(message) {
    const json = JSON.stringify(message.role === "activity" ? message.content : message.value);
    setText(this.#name, message.name ?? message.activityType);
    setText(this.#preview, json);
    setText(this.#json, layOut(json));
  }
}

class Notice {
  #title = el("strong");
  #detail = el("span", { class: "notice-detail", dir: "auto" });
  #code = el("code", { class: "notice-code" });
  #button = el("button", { type: "button", class: "ghost small" });
  root = el("div", { class: "entry notice" }, icon("info"), el("div", { class: "notice-text" }, this.#title, this.#detail, this.#code), this.#button);

  constructor(message, transcript, actions) {
    this.#button.addEventListener("click", () => actions[this.#button.dataset.action]());
    if (message.tone === "error") this.root.setAttribute("role", "alert");
  }

  update({ tone, title, detail, code, action }) {
    this.root.dataset.tone = tone;
    setText(this.#title, title);
    setText(this.#detail, detail ?? "");
    setText(this.#code, code ?? "");
    this.#code.hidden = !code;
    this.#button.hidden = !action;
    this.#button.dataset.action = action ?? "";
    setText(this.#button, action === "connect" ? "Reload thread" : "Try again");
  }
}

class Answer {
  #question = el("span", { class: "answer-question", dir: "auto" });
  #label = el("span", { class: "answer-label", dir: "auto" });
  root = el("div", { class: "entry answer" }, icon("reply"), this.#question, this.#label);

  update({ question, label, status }) {
    this.root.dataset.status = status;
    setText(this.#question, question);
    setText(this.#label, label);
  }
}

const VIEWS = { user: UserMessage, assistant: AssistantMessage, reasoning: Thinking, custom: Record, activity: Record, notice: Notice, answer: Answer };

const hasText = (content) => Boolean(content?.length);

/** Whether an entry of its own is shown: tool messages and tool progress live in their call's card, system texts nowhere. */
export function isShown({ role, id, content, toolCalls }) {
  if (role === "assistant") return hasText(content) || Boolean(toolCalls?.length);
  if (role === "reasoning") return hasText(content);
  return role in VIEWS && !(role === "activity" && id.startsWith("tool-progress:"));
}

/** The view of a message; `actions`: {retry, connect} for the buttons of notices. */
export function viewOf(message, transcript, actions) {
  return new VIEWS[message.role](message, transcript, actions);
}
