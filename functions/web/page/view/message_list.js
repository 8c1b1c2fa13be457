// The conversation: keeps one view per shown message, in order, and draws only what changed since the last frame.

import { isShown, viewOf } from "./message.js";

export class MessageList {
  #views = new Map();
  #transcript = null;
  #shown = new Set();

  /** `root` holds the entries; `actions`: {retry, connect}. */
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
  }

  get empty() {
    return this.#views.size === 0;
  }

  /** `context`: {transcript, busy, waitingFor}; `all` draws every entry (the run began or ended). */
  draw(context, all) {
    const { transcript } = context;
    if (transcript !== this.#transcript) this.#reset(transcript);
    if (transcript.reordered || [...transcript.changed].some((id) => this.#misplaced(transcript.find(id)))) this.#arrange(transcript);
    const ids = all ? this.#shown : transcript.changed;
    for (const id of ids) this.#views.get(id)?.update(transcript.find(id), context);
    transcript.changed.clear();
    transcript.reordered = false;
  }

  #misplaced(message) {
    return message !== undefined && isShown(message) !== this.#shown.has(message.id);
  }

  #reset(transcript) {
    this.#transcript = transcript;
    this.#views.clear();
    this.#shown.clear();
    this.root.replaceChildren();
    transcript.messages.forEach(({ id }) => transcript.touch(id));
  }

  #arrange(transcript) {
    const wanted = transcript.messages.filter(isShown);
    this.#shown = new Set(wanted.map(({ id }) => id));
    for (const [id, { root }] of this.#views) {
      if (this.#shown.has(id)) continue;
      root.remove();
      this.#views.delete(id);
    }
    wanted.forEach((message, index) => this.#place(message, index, transcript));
  }

  // Moves nothing that already stands where it belongs: focus and text selection survive.
  #place(message, index, transcript) {
    if (!this.#views.has(message.id)) {
      this.#views.set(message.id, viewOf(message, transcript, this.actions));
      transcript.touch(message.id);
    }
    const { root } = this.#views.get(message.id);
    if (this.root.children[index] !== root) this.root.insertBefore(root, this.root.children[index] ?? null);
  }
}
