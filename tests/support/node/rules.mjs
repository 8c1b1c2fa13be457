// What both clients accept silently and this project forbids. The same names and the same meaning as tests/support/stream_rules.py;
// one table of broken streams (tests/support/broken_streams.py) holds the two together.
import { walkLifecycle } from "./lifecycle.mjs";

const TERMINAL = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const ofType = (events, ...types) => events.filter((event) => types.includes(event.type));
const callsIn = (messages) => (messages ?? []).flatMap((message) => message.toolCalls ?? []);
const callIds = (messages) => new Set(callsIn(messages).map((call) => call.id));
const lastSnapshot = (events) => events.findLast((event) => event.type === "MESSAGES_SNAPSHOT");
const repeated = (ids) => ids.filter((id, at) => ids.indexOf(id) !== at);

function* runStarted({ events }) {
  if (events[0]?.type !== "RUN_STARTED") yield `the first event is ${events[0]?.type}`;
  for (const event of ofType(events.slice(1), "RUN_STARTED")) yield `a second RUN_STARTED of ${event.runId}`;
}

function* oneTerminal({ events }) {
  const at = events.findIndex((event) => TERMINAL.has(event.type));
  if (at < 0) yield "the stream just stops";
  for (const event of at < 0 ? [] : events.slice(at + 1)) yield `${event.type} after ${events[at].type}`;
}

function* runIds({ input, events }) {
  for (const event of ofType(events, "RUN_STARTED", "RUN_FINISHED"))
    for (const field of ["threadId", "runId"]) if (event[field] !== input[field]) yield `${event.type}.${field} is ${event[field]}, the input's ${input[field]}`;
}

function* protocolVersion({ events }) {
  for (const event of ofType(events, "RUN_STARTED")) if (event.protocolVersion !== "1.0") yield `protocolVersion is ${event.protocolVersion}`;
}

const lifecycle = (rule) => ({ events }) => walkLifecycle(events)[rule];

function* inHistory({ input, events }) {
  const calls = callIds(input.messages);
  const messages = new Set((input.messages ?? []).map((message) => message.id));
  for (const event of ofType(events, "TOOL_CALL_START")) if (calls.has(event.toolCallId)) yield `tool call ${event.toolCallId}`;
  for (const event of ofType(events, "TEXT_MESSAGE_START", "REASONING_MESSAGE_START")) if (messages.has(event.messageId)) yield `message ${event.messageId}`;
}

function* resultBeforeEnd({ events }) {
  const open = new Set();
  for (const event of events) {
    if (event.type === "TOOL_CALL_START") open.add(event.toolCallId);
    if (event.type === "TOOL_CALL_END") open.delete(event.toolCallId);
    if (event.type === "TOOL_CALL_RESULT" && open.has(event.toolCallId)) yield event.toolCallId;
  }
}

// A raw HTTP resume need not repeat the history, so a call that a snapshot of this stream shows is known too.
function knownCalls({ input, events }) {
  const snapshots = ofType(events, "MESSAGES_SNAPSHOT").flatMap((event) => [...callIds(event.messages)]);
  return new Set([...callIds(input.messages), ...snapshots, ...ofType(events, "TOOL_CALL_START").map((event) => event.toolCallId)]);
}

function* resultUnknown(recording) {
  const known = knownCalls(recording);
  for (const event of ofType(recording.events, "TOOL_CALL_RESULT")) if (!known.has(event.toolCallId)) yield event.toolCallId;
}

// With a resume a front end may have made up a tool message of its own from the answer: that one does not count.
function* resultTwice({ input, events }) {
  const answered = input.resume?.length ? [] : (input.messages ?? []).filter((message) => message.role === "tool").map((message) => message.toolCallId);
  yield* repeated([...new Set(answered), ...ofType(events, "TOOL_CALL_RESULT").map((event) => event.toolCallId)]);
}

// Bad JSON is the model's own where the run failed or was stopped, or where the state has no such call (invalid_tool_call).
function* argsJson({ events }) {
  const last = events.at(-1);
  if (last?.type === "RUN_ERROR" || last?.outcome?.type === "cancelled") return;
  const snapshot = lastSnapshot(events);
  const kept = callIds(snapshot?.messages);
  for (const { toolCallId: id } of ofType(events, "TOOL_CALL_END")) {
    const args = ofType(events, "TOOL_CALL_ARGS").filter((event) => event.toolCallId === id).map((event) => event.delta).join("");
    if (snapshot && !kept.has(id)) continue;
    try {
      JSON.parse(args || "{}");
    } catch {
      yield `${id}: ${args.slice(0, 80)}`;
    }
  }
}

const interruptsOf = (events) => ofType(events, "RUN_FINISHED").flatMap((event) => event.outcome?.interrupts ?? []);

function* interruptIds({ events }) {
  yield* repeated(interruptsOf(events).map((interrupt) => interrupt.id));
}

function* interruptCalls(recording) {
  const known = knownCalls(recording);
  for (const { id, toolCallId } of interruptsOf(recording.events)) if (toolCallId !== undefined && !known.has(toolCallId)) yield `${id} names ${toolCallId}`;
}

function unansweredFrontendCalls({ input, events }) {
  const tools = new Set((input.tools ?? []).map((tool) => tool.name));
  const calls = new Map();
  for (const call of callsIn(lastSnapshot(events)?.messages)) calls.set(call.id, call.function.name);
  for (const event of ofType(events, "TOOL_CALL_START")) calls.set(event.toolCallId, event.toolCallName);
  const messages = [...(input.messages ?? []), ...(lastSnapshot(events)?.messages ?? [])];
  const answered = new Set(messages.filter((message) => message.role === "tool").map((message) => message.toolCallId));
  for (const event of ofType(events, "TOOL_CALL_RESULT")) answered.add(event.toolCallId);
  return [...calls].filter(([id, name]) => tools.has(name) && !answered.has(id)).map(([id]) => id);
}

function* pendingCalls(recording) {
  const last = recording.events.at(-1);
  if (last?.type !== "RUN_FINISHED" || !["success", undefined].includes(last.outcome?.type)) return;
  const expected = recording.input.protocolVersion ? unansweredFrontendCalls(recording).sort() : [];
  const sent = [...(last.outcome?.pendingToolCallIds ?? [])].sort();
  if (String(sent) !== String(expected)) yield `[${sent}], unanswered are [${expected}]`;
}

function* orphanToolMessages({ events }) {
  for (const { messages } of ofType(events, "MESSAGES_SNAPSHOT")) {
    const calls = callIds(messages);
    for (const message of messages) if (message.role === "tool" && !calls.has(message.toolCallId)) yield `${message.id} answers ${message.toolCallId}`;
  }
}

function streamedTexts(events, transient) {
  const texts = new Map();
  for (const event of ofType(events, "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"))
    if (!event.subagentRunId) texts.set(event.messageId, [event.type, (texts.get(event.messageId)?.[1] ?? "") + event.delta]);
  return [...texts].filter(([, [, text]]) => !transient.has(text)).map(([id, [type]]) => ({ id, reasoning: type.startsWith("REASONING") }));
}

// Clients keep reasoning that a snapshot does not speak of; once it carries the role, what it lacks is dropped.
function* streamedIdKept({ events, transient }) {
  const snapshot = lastSnapshot(events);
  if (!snapshot || events.at(-1).type !== "RUN_FINISHED") return;
  const ids = new Set(snapshot.messages.map((message) => message.id));
  const speaksOfReasoning = snapshot.messages.some((message) => message.role === "reasoning");
  for (const { id, reasoning } of streamedTexts(events, transient)) if (!ids.has(id) && (!reasoning || speaksOfReasoning)) yield id;
}

function* resultIdKept({ events }) {
  const stored = new Map((lastSnapshot(events)?.messages ?? []).filter((message) => message.role === "tool").map((message) => [message.toolCallId, message.id]));
  for (const { toolCallId, messageId } of ofType(events, "TOOL_CALL_RESULT"))
    if (stored.has(toolCallId) && stored.get(toolCallId) !== messageId) yield `${toolCallId}: ${messageId}, in the snapshot ${stored.get(toolCallId)}`;
}

function* emptyDelta({ events }) {
  for (const event of events) if (event.delta === "") yield `${event.type} of ${event.messageId ?? event.toolCallId}`;
}

function* needsCurrentClient({ events }) {
  for (const event of ofType(events, "RUN_FINISHED")) {
    if (event.outcome?.type === "cancelled") yield "outcome cancelled";
    if (event.outcome?.pendingToolCallIds) yield "pendingToolCallIds";
  }
  for (const event of ofType(events, "TOOL_CALL_RESULT")) if (Array.isArray(event.content)) yield `content parts in the result of ${event.toolCallId}`;
}

/** Whether the recording legally holds what 0.0.59 refuses: the peer declared 1.0 and the stream makes use of it. */
export function isForCurrentClientOnly(recording) {
  return Boolean(recording.input.protocolVersion) && [...needsCurrentClient(recording)].length > 0;
}

function* peerVersion(recording) {
  if (!recording.input.protocolVersion) yield* needsCurrentClient(recording);
}

function* frameSize({ events }) {
  for (const event of events) {
    const size = Buffer.byteLength(JSON.stringify(event));
    if (size > MAX_FRAME_BYTES) yield `${event.type} has ${size} bytes`;
  }
}

function* noRaw({ events }) {
  for (const event of ofType(events, "RAW")) yield `RAW ${JSON.stringify(event.event).slice(0, 80)}`;
}

export const RULES = {
  "run-started": runStarted,
  "one-terminal": oneTerminal,
  "run-ids": runIds,
  "protocol-version": protocolVersion,
  "already-open": lifecycle("already-open"),
  "reopened-id": lifecycle("reopened-id"),
  "not-open": lifecycle("not-open"),
  "left-open": lifecycle("left-open"),
  "in-history": inHistory,
  "result-before-end": resultBeforeEnd,
  "result-unknown": resultUnknown,
  "result-twice": resultTwice,
  "args-json": argsJson,
  "interrupt-ids": interruptIds,
  "interrupt-calls": interruptCalls,
  "pending-calls": pendingCalls,
  "orphan-tool-message": orphanToolMessages,
  "streamed-id-kept": streamedIdKept,
  "result-id-kept": resultIdKept,
  "empty-delta": emptyDelta,
  "peer-version": peerVersion,
  "frame-size": frameSize,
  "no-raw": noRaw,
};
