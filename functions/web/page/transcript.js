// What one thread shows, as data: AG-UI messages plus a few local records (roles `custom`, `notice`, `answer`) that never leave the page.
// `changed` and `reordered` tell the view what to draw next; it empties them.

const LOCAL = new Set(["custom", "notice", "answer"]);
// A snapshot speaks for these roles only when it carries them (as @ag-ui/client does).
const KEPT_UNLESS_CARRIED = new Set(["activity", "reasoning"]);

export class Transcript {
  messages = [];
  state = {};
  /** Ids of messages and tool calls that are still growing. */
  open = new Set();
  /** Tool call id → {content, error}. */
  results = new Map();
  /** Names of the steps that run now. */
  steps = new Set();
  /** Subagent run id → {name, status}. */
  subagents = new Map();
  changed = new Set();
  reordered = true;
  /** The message or call that chunk events without an id continue. */
  lane = null;
  #byId = new Map();
  #callOwner = new Map();
  #serial = 0;

  find(id) {
    return this.#byId.get(id);
  }

  /** The assistant message that holds a tool call. */
  ownerOf(callId) {
    return this.#byId.get(this.#callOwner.get(callId));
  }

  call(callId) {
    return this.ownerOf(callId)?.toolCalls?.find((call) => call.id === callId);
  }

  add(message, index = this.messages.length) {
    this.messages.splice(index, 0, message);
    this.#index(message);
    this.reordered = true;
    return message;
  }

  /** A record of the page's own, e.g. an error or an answer given. */
  note(role, fields) {
    return this.add({ id: `${role}:${(this.#serial += 1)}`, role, ...fields });
  }

  remove(id) {
    this.messages = this.messages.filter((message) => message.id !== id);
    this.#byId.delete(id);
    this.reordered = true;
  }

  addCall(owner, call) {
    (owner.toolCalls ??= []).push(call);
    this.#callOwner.set(call.id, owner.id);
    this.touch(owner.id);
  }

  setResult(message, error) {
    this.results.set(message.toolCallId, { content: message.content, error });
    this.touch(this.#callOwner.get(message.toolCallId));
    if (this.#byId.has(message.id)) return;
    const owner = this.messages.indexOf(this.ownerOf(message.toolCallId));
    this.add(message, owner < 0 ? this.messages.length : owner + 1);
  }

  touch(id) {
    this.changed.add(id);
  }

  /** The server's whole list: same id → replaced in place, new id → appended, absent → dropped (local records stay). */
  replaceAll(messages) {
    const incoming = new Map(messages.map((message) => [message.id, message]));
    const carried = new Set(messages.map((message) => message.role));
    const stays = ({ id, role }) => incoming.has(id) || LOCAL.has(role) || (KEPT_UNLESS_CARRIED.has(role) && !carried.has(role));
    const kept = this.messages.filter(stays).map((message) => incoming.get(message.id) ?? message);
    const known = new Set(kept.map((message) => message.id));
    this.messages = [...kept, ...messages.filter((message) => !known.has(message.id))];
    this.#byId.clear();
    this.messages.forEach((message) => this.#index(message));
    this.reordered = true;
  }

  /** What goes back to the server: everything it could have sent, except activities (as @ag-ui/client does). */
  outgoing() {
    return this.messages.filter(({ role }) => !LOCAL.has(role) && role !== "activity");
  }

  /** Nothing grows any more: the run has ended, well or not. */
  closeAll() {
    for (const id of this.open) this.touch(this.#callOwner.get(id) ?? id);
    this.open.clear();
    this.steps.clear();
  }

  #index(message) {
    this.#byId.set(message.id, message);
    this.touch(message.id);
    for (const call of message.toolCalls ?? []) this.#callOwner.set(call.id, message.id);
    if (message.role !== "tool") return;
    const error = this.results.get(message.toolCallId)?.error || Boolean(message.error);
    this.results.set(message.toolCallId, { content: message.content || message.error || "", error });
    this.touch(this.#callOwner.get(message.toolCallId));
  }
}
