// usage: node six_posts.mjs CLIENT_VERSION URL
//
// The main job with a real client: agent `dev` goes through select → input → select → multiSelect → approval → success in six POSTs
// (one start, five resumes). After each the worker process that served it is killed and gone before the next is sent.
// Prints one JSON line a POST, {post, pid, asked, input, body}, then {done: true, text}; any surprise ends it with status 1.
import assert from "node:assert/strict";

import { makeAgent, watchConsole } from "../../support/node/clients.mjs";

const ANSWERS = [
  ["select", { value: "hitlDemo" }],
  ["input", { value: "月度报表" }],
  ["select", { value: "high" }],
  ["multiSelect", { values: ["audit", "notify"] }],
  ["approval", { approved: true }],
];

const report = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A fetch that also keeps who served the last request, what was asked, and the bytes that came back. */
function recordingFetch() {
  const seen = {};
  const send = async (url, init) => {
    const response = await fetch(url, init);
    Object.assign(seen, { pid: Number(response.headers.get("x-worker-pid")), input: JSON.parse(init.body), body: response.clone().text() });
    return response;
  };
  return { seen, send };
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

async function killAndWait(pid) {
  process.kill(pid, "SIGKILL");
  for (let waited = 0; isAlive(pid); waited += 20) {
    assert.ok(waited < 10_000, `worker ${pid} is still there`);
    await pause(20);
  }
}

function resumeWith(agent, [type, payload]) {
  assert.equal(agent.pendingInterrupts.length, 1, "one interrupt is open");
  const [{ id, metadata }] = agent.pendingInterrupts;
  assert.equal(metadata.type, type);
  return [{ interruptId: id, status: "resolved", payload }];
}

async function main(version, url) {
  const consoleLines = watchConsole();
  const { seen, send } = recordingFetch();
  const agent = makeAgent(version, { url, fetch: send });
  const pids = new Set();
  agent.addMessage({ id: "u1", role: "user", content: "start demo" });
  for (let post = 1; post <= ANSWERS.length + 1; post += 1) {
    await agent.runAgent(post === 1 ? {} : { resume: resumeWith(agent, ANSWERS[post - 2]) });
    report({ post, pid: seen.pid, asked: agent.pendingInterrupts[0]?.metadata.type ?? null, input: seen.input, body: await seen.body });
    assert.ok(seen.pid > 0, "the answer names its worker");
    assert.ok(!pids.has(seen.pid), `worker ${seen.pid} served twice`);
    pids.add(seen.pid);
    await killAndWait(seen.pid);
  }
  assert.deepEqual(agent.pendingInterrupts, []);
  assert.deepEqual(agent.messages.map((message) => message.role), ["user", "assistant"]);
  assert.match(agent.messages[1].content, /^已批准执行/);
  await pause(50); // an unhandled rejection would be reported by now
  assert.deepEqual(consoleLines.take(), []);
  report({ done: true, text: agent.messages[1].content });
}

await main(...process.argv.slice(2)).catch((error) => {
  report({ error: String(error.stack ?? error) });
  process.exitCode = 1;
});
