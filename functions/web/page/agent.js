// One agent behind its function URL: POST <url> runs, POST <url>connect replays a thread. Knows the wire, not the screen.

import { bodyHash } from "./body_hash.js";
import { readEvents } from "./sse.js";

const TERMINAL = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const PROTOCOL_VERSION = "1.0";

/** The server refused the request before any stream: `status` is the HTTP status, `code` the server's own word for it. */
export class HttpError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
  }
}

/** The connection failed, or the stream ended without RUN_FINISHED or RUN_ERROR. `started` tells whether an event had come. */
export class BrokenStream extends Error {
  constructor(cause, started) {
    super(cause?.message ?? "the stream ended too early", { cause });
    this.name = "BrokenStream";
    this.started = started;
  }
}

/** The run goes on in another invocation, and this one's stream has come to its deadline. */
export class JoinEnded extends BrokenStream {}

/** A random UUID v4, also on plain-HTTP pages, where `crypto.randomUUID` is missing. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export class Agent {
  /** `url` ends in a slash. `token()`: what is sent as a bearer token, "" for nothing. */
  constructor(url, token = () => "") {
    this.url = url;
    this.token = token;
  }

  /** Events of one run. `input`: threadId, runId, messages, state, resume? (AG-UI names). */
  run(input, signal) {
    return this.#post(this.url, envelope(input), signal);
  }

  /** Replays a thread: its messages, its state and every open interrupt. */
  connect(threadId, signal) {
    return this.#post(`${this.url}connect`, envelope({ threadId, runId: uuid(), messages: [], state: {} }), signal);
  }

  /** Asks the server to end the thread's run; false where it could not: then nobody but the client can leave. */
  async stop(threadId) {
    try {
      const url = `${this.url}threads/${encodeURIComponent(threadId)}/stop`;
      const body = "{}";
      const headers = { "Content-Type": "application/json", ...bearer(this.token()), ...(await bodyHash(url, body)) };
      return (await fetch(url, { method: "POST", headers, body })).ok;
    } catch (error) {
      if (error instanceof TypeError) return false; // out of reach
      throw error;
    }
  }

  /** The conversation's row ({title, titledBy, …}), or null where the agent has none to tell. */
  async conversation(threadId) {
    return await this.#row(threadId);
  }

  /** Gives it the user's title; null where that was refused. */
  async rename(threadId, title) {
    return await this.#row(threadId, { method: "PATCH", body: JSON.stringify({ title }) });
  }

  async #row(threadId, request) {
    try {
      const url = `${this.url}threads/${encodeURIComponent(threadId)}`;
      const headers = { "Content-Type": "application/json", ...bearer(this.token()), ...(await bodyHash(url, request?.body)) };
      const response = await fetch(url, { ...request, headers });
      return response.ok ? await response.json() : null;
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError) return null; // out of reach, or no agent of ours: the run says so too
      throw error;
    }
  }

  async *#post(url, body, signal) {
    let terminal = null;
    let started = false;
    try {
      for await (const event of readEvents((await post(url, body, signal, this.token())).body)) {
        started = true;
        if (event.type === "RUN_ERROR" && event.code === "JOIN_ENDED") throw new JoinEnded(null, true);
        if (TERMINAL.has(event.type)) terminal = event;
        yield event;
      }
    } catch (error) {
      if (terminal) return; // everything had been said; how the connection closed does not matter
      throw signal?.aborted || error instanceof HttpError || error instanceof JoinEnded ? error : new BrokenStream(error, started);
    }
    if (!terminal) throw new BrokenStream(null, started);
  }
}

/** The header that says who asks; nothing without a token. */
export const bearer = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

function envelope(input) {
  return { protocolVersion: PROTOCOL_VERSION, tools: [], context: [], forwardedProps: {}, ...input };
}

async function post(url, input, signal, token) {
  const body = JSON.stringify(input);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "text/event-stream",
      ...bearer(token),
      ...(await bodyHash(url, body)),
    },
    body,
    signal,
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

/** What the server said no with. */
export async function refusal(response) {
  const text = await response.text();
  let error = {};
  try {
    error = JSON.parse(text)?.error ?? {};
  } catch {
    error = {}; // a gateway answers in HTML or plain text; the status says enough
  }
  return new HttpError(response.status, error.code ?? "", error.message ?? "");
}
