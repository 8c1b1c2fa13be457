// Puts the parts together: the address chooses agent and thread, a session talks to the agent, each frame draws what changed.

import { uuid } from "./agent.js";
import { loadAgents } from "./config.js";
import { Citations } from "./knowledge/citation.js";
import { KnowledgeAgent } from "./knowledge/client.js";
import { Documents } from "./knowledge/documents.js";
import { openPanel } from "./panels/index.js";
import { panelNotice } from "./notices.js";
import { Session } from "./session.js";
import * as threads from "./threads.js";
import { AgentPicker, offlineBadge } from "./view/agent_picker.js";
import { Announcer } from "./view/announcer.js";
import { Composer } from "./view/composer.js";
import { Drawer } from "./view/drawer.js";
import { EventsPane } from "./view/events_pane.js";
import { eachFrame } from "./view/frame.js";
import { Interrupts } from "./view/interrupts.js";
import { MessageList } from "./view/message_list.js";
import { Follower } from "./view/scroll.js";
import { StatusLine } from "./view/status.js";
import { tabs } from "./view/tabs.js";
import { TokenField } from "./view/token_field.js";
import { ThreadTitle } from "./view/thread_title.js";
import { welcome } from "./view/welcome.js";

const $ = (id) => document.getElementById(id);

class Page {
  session = null;
  agent = null;
  #panel = null;
  /** Settled when the panel of the agent is there, or known to be none. */
  #panelOpened = null;
  #drawnStatus = null;
  #announcer = new Announcer($("live"));
  #status = new StatusLine();
  #composer = new Composer({ send: (text) => this.send(text), stop: () => this.session.stop() });
  #messages = new MessageList($("messages"), { retry: () => this.session.retry(), connect: () => this.session.connect() });
  #interrupts = new Interrupts($("interrupts"), (answers) => this.session.answer(answers));
  #events = new EventsPane($("events-panel"), $("state-panel"));
  #follower = new Follower($("scroller"), $("to-end"));
  #title = new ThreadTitle($("thread-title"));
  #agentsDrawer = new Drawer("agents", $("agents-pane"), $("agents-button"), $("backdrop"));
  #documents = new Documents($("documents-button"));
  #token = new TokenField($("token-root"), () => this.session.connect());
  #draw = eachFrame(() => this.#drawNow());

  constructor(agents) {
    this.agents = agents;
    this.picker = new AgentPicker($("agents"), agents);
    $("status").append(this.#status.root);
    $("composer").append(this.#composer.root);
    tabs($("events-tabs"));
    new Citations($("messages"), () => this.agent);
    new Drawer("events", $("events-pane"), $("events-button"), $("backdrop"), "events-pane");
    $("events-close").addEventListener("click", () => $("events-button").click());
    $("new-thread").addEventListener("click", () => this.newThread());
    addEventListener("hashchange", () => this.#open());
    addEventListener("keydown", (event) => this.#key(event));
    this.#open();
  }

  /** Escape stops the run, unless it is for what is being composed or for an open dialog. */
  #key({ key, isComposing }) {
    if (key === "Escape" && !isComposing && !document.querySelector("dialog[open]") && this.session.busy) this.session.stop();
  }

  newThread() {
    threads.forget(this.agent.name);
    threads.setAddress(this.agent.name);
    this.#show(this.agent, "");
    this.#composer.focus();
  }

  async send(text) {
    const { session } = this;
    await this.#panelOpened; // what it knows of the thread goes along
    if (session === this.session) this.#say(text);
  }

  #say(text, given) {
    threads.remember(this.agent.name, this.session.threadId);
    this.#follower.toEnd();
    this.session.send(text, given);
  }

  #open() {
    const { agent: name, thread } = threads.fromAddress();
    const agent = this.agents.find((one) => one.name === name) ?? this.agents.find((one) => !one.unavailable) ?? this.agents[0];
    const wanted = thread || threads.lastThread(agent.name);
    if (agent === this.agent && wanted === this.session.threadId) return;
    threads.setAddress(agent.name, wanted);
    this.#show(agent, wanted);
    if (this.#agentsDrawer.isOver) this.#agentsDrawer.show(false);
    if (matchMedia("(hover: hover)").matches) this.#composer.focus(); // on a phone it would raise the keyboard
  }

  /** Turns to a thread of an agent: an empty id starts a new one, any other is read back from the agent. */
  #show(agent, threadId) {
    this.session?.close();
    this.agent = agent;
    const session = new Session(new KnowledgeAgent(agent), threadId || uuid(), {
      changed: () => session === this.session && this.#draw(),
      heard: (event) => {
        this.#announcer.heard(event, session.transcript);
        if (session === this.session) this.#panel?.heard?.(event);
      },
      state: () => this.#panel?.state?.() ?? {},
      takes: (event) => event.type === "CUSTOM" && (this.#panel?.takes?.(event) ?? false),
      returned: (text) => session === this.session && !this.#composer.text && this.#composer.draft(text),
    });
    this.session = session;
    this.#drawnStatus = null;
    document.title = `${agent.title} · Agents`;
    $("agent-title").textContent = agent.title;
    $("agent-badge").replaceChildren(...(agent.offline && !agent.unavailable ? [offlineBadge()] : []));
    $("welcome").replaceChildren(...welcome(agent, (text) => this.send(text)));
    this.#title.show(session.agent, session.threadId);
    this.picker.draw(agent.name);
    this.#documents.show(agent);
    this.#panelOpened = this.#openPanel(session).catch((error) => session === this.session && session.report(panelNotice(error)));
    this.#token.draw(agent);
    this.#draw();
    if (threadId) session.connect();
  }

  /** Puts the agent's own view beside the conversation, if it has one. */
  async #openPanel(session) {
    this.#panel?.close?.();
    this.#panel = null;
    $("panel").hidden = true;
    $("panel").replaceChildren();
    const panel = await openPanel({
      agent: this.agent.name,
      threadId: session.threadId,
      session,
      send: (text, given) => this.#say(text, given),
      keep: () => session === this.session && threads.remember(this.agent.name, session.threadId),
    });
    if (session !== this.session) return panel?.close?.();
    this.#panel = panel;
    $("panel").hidden = !panel;
    if (panel) $("panel").append(panel.root);
    this.#draw();
  }

  #drawNow() {
    const { session } = this;
    const status = !session.busy && session.interrupts.length ? "waiting" : session.status;
    const waitingFor = new Set(session.interrupts.map(({ toolCallId }) => toolCallId));
    this.#messages.draw({ transcript: session.transcript, busy: session.busy, waitingFor }, status !== this.#drawnStatus);
    $("messages").setAttribute("aria-busy", String(session.busy));
    $("welcome").hidden = !this.#messages.empty || session.busy || session.interrupts.length > 0;
    this.#status.draw(session);
    this.#composer.draw(this.agent.unavailable ? "unavailable" : status);
    this.#events.draw(session.log, session.transcript.state);
    this.#panel?.draw?.();
    const asks = this.#interrupts.draw(session.interrupts, status === "waiting");
    this.#follower.afterDraw();
    if (asks) this.#ask();
    if (status === "idle" && this.#drawnStatus && document.activeElement === document.body) this.#composer.focus();
    if (status !== this.#drawnStatus && !session.busy && !this.#messages.empty) this.#title.refresh();
    this.#drawnStatus = status;
  }

  /** New questions: the first one is in view and has the focus, also when all of them are taller than the window. */
  #ask() {
    this.#interrupts.focus();
    this.#follower.look();
  }
}

function fail(error) {
  $("welcome").hidden = false;
  $("welcome").replaceChildren(Object.assign(document.createElement("h2"), { textContent: "No agent to talk to" }),
    Object.assign(document.createElement("p"), { textContent: `${error.message} Start the stack with “agents dev”, or put a config.json beside this page.` }));
}

loadAgents().then((agents) => new Page(agents), fail);
