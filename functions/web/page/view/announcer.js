// What a screen reader hears: whole messages when they are complete, questions, results and errors. Never single tokens.

const LIMIT = 600;

function messageEnd(event, transcript) {
  const message = transcript.find(event.messageId);
  return message?.role === "assistant" ? message.content : "";
}

function finished({ outcome }) {
  const interrupts = outcome?.type === "interrupt" ? outcome.interrupts : [];
  if (interrupts.length) return `The agent asks: ${interrupts.map(({ message, metadata }) => message ?? metadata?.title ?? "a question").join("; ")}`;
  return outcome?.type === "cancelled" ? "The run was cancelled" : "";
}

const SPOKEN = {
  TEXT_MESSAGE_END: messageEnd,
  TOOL_CALL_START: (event) => `Tool ${event.toolCallName}`,
  RUN_FINISHED: finished,
  RUN_ERROR: (event) => `The run failed: ${event.message}`,
};

export class Announcer {
  constructor(region) {
    this.region = region;
  }

  heard(event, transcript) {
    this.say(SPOKEN[event.type]?.(event, transcript));
  }

  say(text) {
    if (text) this.region.textContent = text.length > LIMIT ? `${text.slice(0, LIMIT)}…` : text;
  }
}
