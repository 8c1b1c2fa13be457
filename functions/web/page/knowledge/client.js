// Knowledge bases behind a function URL: GET <url>kb reads a cited passage; bases, documents, import and delete where the agent serves them.

import { Agent, bearer, refusal } from "../agent.js";
import { bodyHash } from "../body_hash.js";
import { tokenFor } from "../token.js";
import * as choice from "./choice.js";

/** The client of one agent; what it runs is asked of the knowledge base that was chosen for it. */
export class KnowledgeAgent extends Agent {
  constructor(agent) {
    super(agent.url, tokenFor(agent));
    this.name = agent.name;
  }

  run(input, signal) {
    const kbId = choice.of(this.name);
    return super.run(kbId ? { ...input, state: { ...input.state, kbId } } : input, signal);
  }
}

/** Every call throws HttpError when it is refused, TypeError when the agent cannot be reached. */
export class Knowledge {
  constructor(agent) {
    this.url = agent.url;
    this.token = tokenFor(agent);
  }

  /** {headings, text, docId, kbId, …} of a link `/kb?doc=…&chunk=…`. */
  async passage(link) {
    return (await this.#ask(`kb?${link.split("?")[1] ?? ""}`)).json();
  }

  /** {bases: [{kbId, documents, writable}], samples: [kbId]} */
  async bases() {
    return (await this.#ask("kb/bases")).json();
  }

  /** {documents: [{docId, title, status, chunks, error?}], writable} */
  async documents(kb) {
    return (await this.#ask(`kb/documents?${new URLSearchParams({ kb })}`)).json();
  }

  async remove(kb, doc) {
    await this.#ask(`kb/documents?${new URLSearchParams({ kb, doc })}`, { method: "DELETE" });
  }

  /** Imports a file; `step` hears {docId, status, chunks?, error?}, {name, status: "skipped", reason} and, last, {done}. */
  async import(kb, file, step) {
    const headers = { "Content-Type": "application/octet-stream" };
    const response = await this.#ask(`kb/documents?${new URLSearchParams({ kb, name: file.name })}`, { method: "POST", headers, body: file });
    let ended = false;
    for await (const line of lines(response.body)) {
      ended ||= "done" in line;
      step(line);
    }
    if (!ended) throw new TypeError("the answer broke off");
  }

  async #ask(path, options = {}) {
    const url = this.url + path;
    const headers = { ...options.headers, ...bearer(this.token()), ...(await bodyHash(url, options.body)) };
    const response = await fetch(url, { ...options, headers });
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}
