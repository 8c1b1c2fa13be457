// Every event as it came, with its time in milliseconds since its own request was sent.

export class EventLog {
  /** {run, kind, at, event, json} in order of arrival; `event` null marks the start of a request, or how it broke. */
  records = [];
  #run = 0;
  #start = 0;

  /** A request leaves now. `kind`: run, resume or connect. */
  begin(kind) {
    this.#run += 1;
    this.#start = performance.now();
    this.records.push({ run: this.#run, kind, at: 0, event: null, json: "" });
  }

  add(event) {
    this.records.push({ run: this.#run, kind: event.type, at: this.elapsed(), event, json: JSON.stringify(event) });
  }

  /** The request ended without an event that says so: `kind` is shown as its last line, e.g. "HTTP 422". */
  broke(kind) {
    this.records.push({ run: this.#run, kind, at: this.elapsed(), event: null, json: "" });
  }

  elapsed() {
    return performance.now() - this.#start;
  }

  clear() {
    this.records = [];
    this.#run = 0;
  }
}

const FAMILIES = [
  [/^RUN_ERROR|^SUBAGENT_ERROR/, "error"],
  [/^RUN_|^STEP_|^SUBAGENT_/, "lifecycle"],
  [/^TEXT_/, "text"],
  [/^REASONING_/, "reasoning"],
  [/^TOOL_/, "tool"],
  [/^STATE_|^MESSAGES_/, "state"],
];

/** Which colour an event type has in the pane. */
export function family(type) {
  return FAMILIES.find(([pattern]) => pattern.test(type))?.[1] ?? "other";
}
