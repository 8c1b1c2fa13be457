// What is open at each moment of a stream. Each row: event type → [kind, the field that holds the id].
const OPENS = {
  TEXT_MESSAGE_START: ["text", "messageId"],
  REASONING_START: ["reasoning span", "messageId"],
  REASONING_MESSAGE_START: ["reasoning", "messageId"],
  TOOL_CALL_START: ["tool call", "toolCallId"],
  STEP_STARTED: ["step", "stepName"],
  SUBAGENT_STARTED: ["subagent", "subagentRunId"],
};
const CONTINUES = {
  TEXT_MESSAGE_CONTENT: ["text", "messageId"],
  REASONING_MESSAGE_CONTENT: ["reasoning", "messageId"],
  TOOL_CALL_ARGS: ["tool call", "toolCallId"],
};
const CLOSES = {
  TEXT_MESSAGE_END: ["text", "messageId"],
  REASONING_END: ["reasoning span", "messageId"],
  REASONING_MESSAGE_END: ["reasoning", "messageId"],
  TOOL_CALL_END: ["tool call", "toolCallId"],
  STEP_FINISHED: ["step", "stepName"],
  SUBAGENT_FINISHED: ["subagent", "subagentRunId"],
  SUBAGENT_ERROR: ["subagent", "subagentRunId"],
};

const keyOf = ([kind, field], event) => `${kind} ${event[field]}`;

/** Walks the events once; returns the details for each lifecycle rule. */
export function walkLifecycle(events) {
  const found = { "already-open": [], "reopened-id": [], "not-open": [], "left-open": [] };
  const open = new Set();
  const closed = new Set();
  for (const event of events) {
    if (OPENS[event.type]) {
      const key = keyOf(OPENS[event.type], event);
      if (open.has(key)) found["already-open"].push(key);
      else if (closed.has(key) && event.type !== "STEP_STARTED") found["reopened-id"].push(key); // a node may run again
      open.add(key);
    }
    const needs = CONTINUES[event.type] ?? CLOSES[event.type];
    if (needs && !open.has(keyOf(needs, event))) found["not-open"].push(`${event.type} of ${keyOf(needs, event)}`);
    if (CLOSES[event.type]) {
      open.delete(keyOf(CLOSES[event.type], event));
      closed.add(keyOf(CLOSES[event.type], event));
    }
  }
  found["left-open"].push(...open);
  return found;
}
