// usage: node stream_check.mjs FOLDER|FILE.jsonl ...
//
// A recording is JSON lines: first the RunAgentInput, then the events in the order they were sent; NAME.sse beside NAME.jsonl holds
// the bytes as sent (else the events are encoded here). The input's `$transient` lists the texts that the state never receives.
//
// Every recording goes through both clients, cut at odd places: an error, a console line or an unhandled rejection fails it. Then come
// the rules that clients accept silently (rules.mjs). One JSON line per failed recording, {file, violations: [{rule, detail}]};
// the last line is "N passed, N failed".
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

import { makeAgent, watchConsole } from "./clients.mjs";
import { RULES, isForCurrentClientOnly } from "./rules.mjs";

const warnings = watchConsole();

function recordings(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).filter((name) => name.endsWith(".jsonl")).sort().map((name) => join(path, name));
}

function read(file) {
  const [first, ...events] = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const { $transient: transient = [], ...input } = first;
  const sent = file.replace(/\.jsonl$/, ".sse");
  const bytes = existsSync(sent) ? readFileSync(sent) : encode(events);
  return { input, events, transient: new Set(transient), bytes };
}

function encode(events) {
  return new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

// 37 bytes cut inside frames, lines and characters. A large stream gets larger pieces: the clients scan their buffer at each.
function pieces(bytes) {
  const size = Math.max(37, Math.floor(bytes.length / 300) | 1);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

async function play(version, { input, bytes }) {
  const fetch = async () => new Response(pieces(bytes), { status: 200, headers: { "content-type": "text/event-stream" } });
  const { threadId, messages = [], state = {} } = input;
  const agent = makeAgent(version, { url: "http://recorded/", threadId, initialMessages: messages, initialState: state, fetch });
  const found = [];
  try {
    await agent.runAgent({ runId: input.runId, tools: input.tools ?? [] }, { onRunErrorEvent() {} });
  } catch (error) {
    found.push(String(error.message).split("\n").slice(0, 8).join(" ").slice(0, 400));
  }
  await new Promise((resolve) => setTimeout(resolve, 0)); // an unhandled rejection is reported one turn later
  found.push(...warnings.take().filter(isAboutTheStream).map((line) => line.slice(0, 300)));
  return found.map((detail) => ({ rule: `client-${version}`, detail }));
}

// A test may send what no client would; that 1.0.0 then says so about its own request is no fault of the stream.
function isAboutTheStream(line) {
  return !line.includes("from the outgoing input");
}

async function check(file) {
  let recording;
  try {
    recording = read(file);
  } catch (error) {
    return [{ rule: "json", detail: error.message }];
  }
  const violations = await play("1.0.0", recording);
  if (!isForCurrentClientOnly(recording)) violations.push(...(await play("0.0.59", recording)));
  for (const [rule, find] of Object.entries(RULES)) for (const detail of find(recording)) violations.push({ rule, detail });
  return violations;
}

let passed = 0;
let failed = 0;
for (const file of process.argv.slice(2).flatMap(recordings)) {
  const violations = await check(file);
  if (violations.length === 0) passed += 1;
  else {
    failed += 1;
    console.log(JSON.stringify({ file: basename(file), violations }));
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
