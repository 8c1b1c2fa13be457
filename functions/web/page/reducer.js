// AG-UI event → change of the transcript. One row per event type; unknown types change nothing (they are still seen in the events pane).

import { applyPatch } from "./patch.js";

const text = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? `[${part.type}]`).join(""));

function open(t, event, message) {
  t.open.add(event.messageId);
  if (t.find(event.messageId)) t.touch(event.messageId);
  else t.add({ id: event.messageId, ...message, ...(event.subagentRunId && { subagentRunId: event.subagentRunId }) });
}

function append(t, event) {
  const message = t.find(event.messageId);
  if (!message) return;
  message.content = (message.content ?? "") + event.delta;
  t.touch(message.id);
}

function close(t, event) {
  t.open.delete(event.messageId);
  t.touch(event.messageId);
}

function startCall(t, event) {
  if (t.call(event.toolCallId)) return;
  const id = event.parentMessageId ?? event.toolCallId;
  const owner = t.find(id) ?? t.add({ id, role: "assistant", ...(event.subagentRunId && { subagentRunId: event.subagentRunId }) });
  t.open.add(event.toolCallId);
  t.addCall(owner, { id: event.toolCallId, type: "function", function: { name: event.toolCallName, arguments: "" } });
}

function appendArguments(t, event) {
  const call = t.call(event.toolCallId);
  if (!call) return;
  call.function.arguments += event.delta;
  t.touch(t.ownerOf(event.toolCallId).id);
}

function endCall(t, event) {
  t.open.delete(event.toolCallId);
  t.touch(t.ownerOf(event.toolCallId)?.id);
}

// A chunk opens what it names when needed and appends to it; the run's end closes it.
const chunk = (start, content, key) => (t, event) => {
  const id = event[key] ?? t.lane;
  const whole = { ...event, [key]: id };
  if (t.lane !== id) start(t, whole);
  t.lane = id;
  if (event.delta) content(t, whole);
};

function result(t, event) {
  t.open.delete(event.toolCallId);
  const { messageId: id, toolCallId, content } = event;
  t.setResult({ id, role: "tool", toolCallId, content: text(content) }, event.metadata?.error === true);
}

function activity(t, event) {
  const { messageId: id, activityType, content } = event;
  const known = t.find(id);
  if (!known) t.add({ id, role: "activity", activityType, content });
  else if (event.replace !== false) Object.assign(known, { activityType, content });
  touchActivity(t, id);
}

// A tool's progress is drawn on the card of its call.
function touchActivity(t, id) {
  t.touch(id);
  t.touch(t.ownerOf(id.replace(/^tool-progress:/, ""))?.id);
}

function patchActivity(t, event) {
  const known = t.find(event.messageId);
  if (known) known.content = applyPatch(known.content, event.patch);
  touchActivity(t, event.messageId);
}

function encrypted(t, event) {
  const target = event.subtype === "tool-call" ? t.call(event.entityId) : t.find(event.entityId);
  if (target) target.encryptedValue = event.encryptedValue;
}

function subagent(status) {
  return (t, event) => {
    const known = t.subagents.get(event.subagentRunId);
    t.subagents.set(event.subagentRunId, { name: event.name ?? known?.name ?? "subagent", status });
  };
}

const startText = (t, event) => open(t, event, { role: event.role ?? "assistant", content: "" });
const startReasoning = (t, event) => open(t, event, { role: "reasoning", content: "" });

const EVENTS = {
  RUN_STARTED: (t, event) => (event.input?.messages ?? []).filter((message) => !t.find(message.id)).forEach((message) => t.add(message)),
  RUN_FINISHED: (t) => t.closeAll(),
  RUN_ERROR: (t) => t.closeAll(),
  STEP_STARTED: (t, event) => t.steps.add(event.stepName),
  STEP_FINISHED: (t, event) => t.steps.delete(event.stepName),
  TEXT_MESSAGE_START: startText,
  TEXT_MESSAGE_CONTENT: append,
  TEXT_MESSAGE_END: close,
  TEXT_MESSAGE_CHUNK: chunk(startText, append, "messageId"),
  REASONING_MESSAGE_START: startReasoning,
  REASONING_MESSAGE_CONTENT: append,
  REASONING_MESSAGE_END: close,
  REASONING_MESSAGE_CHUNK: chunk(startReasoning, append, "messageId"),
  REASONING_ENCRYPTED_VALUE: encrypted,
  TOOL_CALL_START: startCall,
  TOOL_CALL_ARGS: appendArguments,
  TOOL_CALL_END: endCall,
  TOOL_CALL_CHUNK: chunk(startCall, appendArguments, "toolCallId"),
  TOOL_CALL_RESULT: result,
  ACTIVITY_SNAPSHOT: activity,
  ACTIVITY_DELTA: patchActivity,
  MESSAGES_SNAPSHOT: (t, event) => t.replaceAll(event.messages),
  STATE_SNAPSHOT: (t, event) => (t.state = event.snapshot),
  STATE_DELTA: (t, event) => (t.state = applyPatch(t.state, event.delta)),
  SUBAGENT_STARTED: subagent("running"),
  SUBAGENT_FINISHED: subagent("finished"),
  SUBAGENT_ERROR: subagent("failed"),
  CUSTOM: (t, event) => t.note("custom", { name: event.name, value: event.value }),
};

/** Applies one event. Throws RangeError when a delta does not fit what is there. */
export function reduce(transcript, event) {
  EVENTS[event.type]?.(transcript, event);
}
