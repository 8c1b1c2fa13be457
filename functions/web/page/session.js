// One thread with one agent: what runs now, what is open, what to do when it fails. Views read it and call send, answer, stop, connect, retry.

import { BrokenStream, HttpError, JoinEnded, uuid } from "./agent.js";
import { EventLog } from "./event_log.js";
import { brokenNotice, httpNotice, runErrorNotice, unreachableNotice, STOPPED, CANCELLED, LOST, oddDelta } from "./notices.js";
import { reduce } from "./reducer.js";
import { Transcript } from "./transcript.js";

const RECONNECT_DELAYS_MS = [0, 800, 2500];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Session {
  transcript = new Transcript();
  log = new EventLog();
  /** idle | connecting | running */
  status = "idle";
  /** Open interrupts of the thread, as the last outcome listed them. Kept over errors, as they are still open then. */
  interrupts = [];
  /** {outcome, ms, usage} of the last run that ended. */
  last = null;
  /** What the last message brought along beside the thread's own state; a retry brings it again. */
  given = null;
  #controller = null;
  #closed = false;
  #stopping = false;

  /**
   * `hooks`: changed() after every change, heard(event), returned(text) when a message could not be delivered; and of the agent's panel
   * state() → what goes along with every run, takes(event) → true for a CUSTOM event that it shows itself.
   */
  constructor(agent, threadId, hooks) {
    this.agent = agent;
    this.threadId = threadId;
    this.hooks = hooks;
  }

  get busy() {
    return this.status !== "idle";
  }

  /** `given`: state that goes along with this message; by default what the hook says. */
  async send(text, given = this.hooks.state()) {
    if (this.busy || this.interrupts.length || !text.trim()) return;
    this.given = given;
    const message = this.transcript.add({ id: uuid(), role: "user", content: text });
    const delivered = await this.#run("run", {}, message);
    if (!delivered) this.hooks.returned(text);
  }

  /** Answers every open interrupt at once. `answers`: [{interrupt, status, payload?, label}], one for each. */
  async answer(answers) {
    if (this.busy) return;
    const notes = answers.map(({ interrupt, status, label }) => [
      interrupt.id,
      this.transcript.note("answer", { question: interrupt.message ?? "", label, status }),
    ]);
    const resume = answers.map(({ interrupt, status, payload }) => ({
      interruptId: interrupt.id,
      status,
      ...(status === "resolved" && { payload }),
    }));
    await this.#run("resume", { resume });
    const open = new Set(this.interrupts.map(({ id }) => id));
    notes.filter(([id]) => open.has(id)).forEach(([, note]) => this.transcript.remove(note.id));
    this.hooks.changed();
  }

  /** The run again, without a new message: unfinished work goes on from the last checkpoint. */
  retry() {
    return this.busy ? null : this.#run("run", {});
  }

  /** Reads the thread back: messages, state and open interrupts; or what runs on it, to its end. */
  async connect() {
    if (this.busy) return;
    this.#begin("connecting");
    try {
      await this.#replay();
    } catch (error) {
      this.#failedConnect(error);
    } finally {
      this.#end();
    }
  }

  /** Ends the run, wherever it runs: its stream then says how. Twice, or where nobody hears it: the stream is left. */
  async stop() {
    const controller = this.#controller;
    if (this.status !== "running" || this.#stopping) return controller?.abort();
    this.#stopping = true;
    if (!(await this.agent.stop(this.threadId))) controller.abort();
  }

  /** The page turns to another thread: nothing of this one is shown any more. */
  close() {
    this.#closed = true;
    this.#controller?.abort();
  }

  #begin(status) {
    this.#controller = new AbortController();
    this.#stopping = false;
    this.status = status;
    this.transcript.messages.filter(({ action }) => action).forEach((note) => this.#dropAction(note));
    this.hooks.changed();
  }

  #dropAction(note) {
    note.action = null;
    this.transcript.touch(note.id);
  }

  #end() {
    this.transcript.closeAll();
    this.status = "idle";
    this.hooks.changed();
  }

  /** `fresh`: the message this run brings to the thread. True unless the server refused the request or lost that message. */
  async #run(kind, extra, fresh = null) {
    this.#begin("running");
    this.log.begin(kind);
    const { transcript, threadId } = this;
    const input = { threadId, runId: uuid(), messages: transcript.outgoing(), state: { ...transcript.state, ...(this.given ?? this.hooks.state()) }, ...extra };
    try {
      for await (const event of this.agent.run(input, this.#controller.signal)) this.#take(event);
      if (kind === "resume" && this.last.outcome === "error") await this.#refreshInterrupts();
      return true;
    } catch (error) {
      return await this.#failedRun(error, fresh);
    } finally {
      this.#end();
    }
  }

  #take(event) {
    if (this.#closed) return;
    this.log.add(event);
    try {
      if (!this.hooks.takes(event)) reduce(this.transcript, event);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#note(oddDelta(event, error));
    }
    if (event.type === "RUN_FINISHED") this.#finished(event);
    if (event.type === "RUN_ERROR") this.#erred(event);
    this.hooks.heard(event);
    this.hooks.changed();
  }

  /** A notice that is not about a run. */
  report(notice) {
    this.#note(notice);
    this.hooks.changed();
  }

  #note(notice) {
    this.transcript.note("notice", notice);
    return true;
  }

  #finished({ outcome, usage }) {
    this.interrupts = outcome?.type === "interrupt" ? outcome.interrupts : [];
    this.last = { outcome: outcome?.type ?? "success", ms: this.log.elapsed(), usage };
    if (outcome?.type === "cancelled") this.#note(CANCELLED);
  }

  #erred(event) {
    this.last = { outcome: "error", ms: this.log.elapsed(), usage: event.usage };
    this.#note(runErrorNotice(event));
  }

  /** What a failed run means for `fresh`, the message it carried: true when the thread has it, false when it goes back to the writer. */
  async #failedRun(error, fresh) {
    if (this.#closed) return true;
    this.last = null;
    this.log.broke(this.#controller.signal.aborted ? "stopped" : error.status ? `HTTP ${error.status}` : "broken off");
    if (this.#controller.signal.aborted) return this.#note(STOPPED);
    if (error instanceof HttpError) this.#note(httpNotice(error));
    else if (error instanceof BrokenStream) return await this.#recover(error, fresh);
    else throw error;
    if (fresh) this.transcript.remove(fresh.id);
    return false;
  }

  /** After a broken stream the checkpoint is the truth: what it holds replaces what was half received. */
  async #recover(error, fresh) {
    const note = this.transcript.note("notice", LOST);
    this.transcript.closeAll();
    this.status = "connecting";
    this.hooks.changed();
    const failure = await this.#reconnect();
    this.transcript.remove(note.id);
    if (this.#closed) return true;
    if (this.#controller.signal.aborted) return this.#note(STOPPED);
    if (failure) {
      this.#note(failure instanceof HttpError ? httpNotice(failure) : unreachableNotice(error));
      if (fresh && !error.started) this.transcript.remove(fresh.id);
      return error.started;
    }
    const kept = !fresh || this.transcript.find(fresh.id) !== undefined;
    if (this.last) return kept; // the run was still at work, and is shown to its end
    return this.#note(brokenNotice(kept && !this.interrupts.length)) && kept;
  }

  /** Tries to replay the thread, a few times; the last failure, or null. */
  async #reconnect() {
    let failure = null;
    for (const delay of RECONNECT_DELAYS_MS) {
      await sleep(delay);
      failure = await this.#replay().then(() => null, (reason) => reason);
      if (!(failure instanceof BrokenStream)) break;
    }
    return failure;
  }

  async #replay() {
    this.log.begin("connect");
    let live = false;
    for (let ended = false; !ended; ) {
      try {
        for await (const event of this.agent.connect(this.threadId, this.#controller.signal)) {
          if (event.type === "RUN_STARTED" && (live = !event.runId.startsWith("connect-"))) this.status = "running";
          this.#take(event);
        }
        ended = true;
      } catch (error) {
        if (!(error instanceof JoinEnded)) throw error;
      }
    }
    if (!live) this.last = null;
  }

  /** A resumed run failed: ask which interrupts are still open, and leave the half answer on the screen. */
  async #refreshInterrupts() {
    this.log.begin("connect");
    try {
      for await (const event of this.agent.connect(this.threadId, this.#controller.signal)) {
        this.log.add(event);
        if (event.type === "RUN_FINISHED") this.interrupts = event.outcome?.interrupts ?? [];
      }
    } catch (error) {
      if (!(error instanceof BrokenStream || error instanceof HttpError)) throw error;
      // the cards stay as they were: the next answer will tell
    }
  }

  #failedConnect(error) {
    if (this.#closed || this.#controller.signal.aborted) return;
    if (error instanceof HttpError && error.status === 404) return; // a thread nobody has written to yet
    this.#note(error instanceof HttpError ? httpNotice(error) : unreachableNotice(error));
  }
}
