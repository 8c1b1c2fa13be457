// Raw events with their times, and the thread's state. Only the newest rows are in the page; filter and copy see all of them.

import { layOut } from "../json.js";
import { copyButton } from "./copy.js";
import { el, icon, setText } from "./dom.js";
import { eventRow, timeText } from "./event_row.js";
import { Follower } from "./scroll.js";

const MAX_ROWS = 1000;
const TRIM_ROWS = 300;
const isDelta = ({ kind }) => /_(CONTENT|ARGS|CHUNK)$/.test(kind);

export class EventsPane {
  #log = null;
  #drawn = 0;
  #filter = el("input", { type: "search", class: "field small", placeholder: "Filter by type or text", "aria-label": "Filter events" });
  #deltas = el("input", { type: "checkbox", checked: true });
  #list = el("ol", { class: "event-list", "aria-label": "Events" });
  #summary = el("p", { class: "events-summary" });
  #end = el("button", { type: "button", class: "to-end small", hidden: true, "aria-label": "Newest event" }, icon("down"));
  #box = el("div", { class: "events-box" }, this.#list);
  #state = el("pre", { class: "state-json", tabindex: 0, "aria-label": "State" });
  #follower = new Follower(this.#box, this.#end);

  /** Fills `events` and `state`, the two tab panels. */
  constructor(events, state) {
    const copy = copyButton(() => this.#matching().filter(({ event }) => event).map(({ json }) => json).join("\n"), "Copy the events shown, one JSON a line", { text: "Copy" });
    const tools = el("div", { class: "events-tools" }, this.#filter, el("label", { class: "toggle" }, this.#deltas, "deltas"), copy);
    events.append(tools, this.#box, this.#end, this.#summary);
    state.append(this.#state);
    this.#filter.addEventListener("input", () => this.#redraw());
    this.#deltas.addEventListener("change", () => this.#redraw());
    this.#list.addEventListener("keydown", (event) => this.#move(event));
  }

  draw(log, state) {
    if (log !== this.#log) {
      this.#log = log;
      this.#redraw();
    } else this.#append();
    setText(this.#state, layOut(JSON.stringify(state ?? null)));
  }

  #matches(record) {
    if (record.event === null) return true;
    if (!this.#deltas.checked && isDelta(record)) return false;
    const wanted = this.#filter.value.trim().toLowerCase();
    return !wanted || record.json.toLowerCase().includes(wanted);
  }

  #matching() {
    return this.#log.records.filter((record) => this.#matches(record));
  }

  #redraw() {
    this.#drawn = 0;
    this.#list.replaceChildren();
    this.#append();
  }

  #append() {
    const { records } = this.#log;
    if (this.#drawn === records.length) return;
    const rows = records.slice(this.#drawn).filter((record) => this.#matches(record)).slice(-MAX_ROWS).map(eventRow);
    this.#drawn = records.length;
    this.#list.append(...rows);
    this.#trim();
    if (!this.#list.querySelector("button[tabindex='0']")) this.#list.querySelector("button.event-head")?.setAttribute("tabindex", "0");
    setText(this.#summary, this.#describe(records));
    this.#follower.afterDraw();
  }

  // In one go and not at every frame: taking rows from the head of a list one by one is slow.
  #trim() {
    const surplus = this.#list.children.length - MAX_ROWS;
    if (surplus < TRIM_ROWS) return;
    const range = document.createRange();
    range.setStart(this.#list, 0);
    range.setEnd(this.#list, surplus);
    range.deleteContents();
  }

  #describe(records) {
    const run = records.slice(records.findLastIndex(({ at, event }) => event === null && at === 0) + 1).filter(({ event }) => event);
    if (!run.length) return "";
    const bytes = run.reduce((sum, { json }) => sum + json.length, 0);
    return `${run.length} events · ${(bytes / 1024).toFixed(1)} KB · first after ${timeText(run[0].at)} · last after ${timeText(run.at(-1).at)}`;
  }

  // One tab stop for the whole list; the arrow keys go from row to row.
  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches(".event-head")) return;
    event.preventDefault();
    const heads = [...this.#list.querySelectorAll(".event-head")];
    const next = heads[heads.indexOf(event.target) + step];
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
