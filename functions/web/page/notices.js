// The words for what went wrong, and what to do about it. Each notice: tone, title, detail, code?, action? (retry or connect).

export const STOPPED = { tone: "info", title: "Stopped", detail: "You stopped listening. Reload the thread to see what the agent saved." };
export const CANCELLED = { tone: "info", title: "Cancelled", detail: "The run was ended before it was done." };
export const LOST = { tone: "info", title: "Connection lost", detail: "Reading the thread back…" };

const ADVICE = {
  400: "The request was not understood. Start a new thread and try again.",
  401: "The function URL wants a signed-in caller. Put a valid access token into the field below the agents, or sign in.",
  403: "You are not allowed to call this function URL. Check its auth type and your permissions.",
  404: "There is no agent at this address. Check the URL in config.json.",
  409: "This thread is busy or has moved on. Reload it and try again.",
  413: "The message is too large. Send a shorter one, or start a new thread.",
  422: "The server did not accept the input. Change it and send it again.",
  429: "Too many requests. Wait a moment, then try again.",
  502: "The function failed before it could answer. Its log says why; try again.",
  503: "The function is not ready. Try again in a moment.",
  504: "The function took too long to answer. Try again.",
};

const RELOAD = new Set([400, 409, 500, 502, 503, 504]);

export function httpNotice({ status, code, message }) {
  const advice = ADVICE[status] ?? (status >= 500 ? "The server failed. Its log says why; try again." : "The server refused the request.");
  return {
    tone: "error",
    title: message || `The server answered ${status}`,
    detail: advice,
    code: [`HTTP ${status}`, code].filter(Boolean).join(" · "),
    action: RELOAD.has(status) ? "connect" : null,
  };
}

export function runErrorNotice({ message, code }) {
  return { tone: "error", title: "The run failed", detail: message, code, action: code === "INVALID_RESUME" ? null : "retry" };
}

/** `unfinished`: the thread is known and may hold work that can go on. */
export function brokenNotice(unfinished) {
  return {
    tone: "warning",
    title: "The connection broke",
    detail: "Above is what the thread has saved.",
    action: unfinished ? "retry" : null,
  };
}

export function unreachableNotice(error) {
  return {
    tone: "error",
    title: "Cannot reach the agent",
    detail: "Check that it is running and that its URL allows this page (CORS), then reconnect.",
    code: error.message,
    action: "connect",
  };
}

export function oddDelta(event, error) {
  return { tone: "warning", title: "An update did not fit", detail: error.message, code: event.type };
}

export function panelNotice(error) {
  return { tone: "error", title: "The view of this agent could not be opened", detail: "Reload the page to try again.", code: error.message };
}
