// Which agent and thread this tab shows. The address keeps both (`#agent/thread`), the session storage the last thread of each agent.

const key = (agent) => `thread:${agent}`;

/** {agent, thread} of the address; either may be empty. */
export function fromAddress(hash = location.hash) {
  const [agent = "", thread = ""] = hash.replace(/^#/, "").split("/").map(safeDecode);
  return { agent, thread };
}

export function lastThread(agent) {
  return sessionStorage.getItem(key(agent)) ?? "";
}

export function forget(agent) {
  sessionStorage.removeItem(key(agent));
}

/** The thread has been written to: a reload comes back to it. */
export function remember(agent, thread) {
  sessionStorage.setItem(key(agent), thread);
  setAddress(agent, thread);
}

/** Shows agent and thread in the address without a new history entry. */
export function setAddress(agent, thread = "") {
  const hash = `#${[agent, thread].filter(Boolean).map(encodeURIComponent).join("/")}`;
  if (location.hash !== hash) history.replaceState(null, "", hash);
}

function safeDecode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a hand-written address with a stray %
  }
}
