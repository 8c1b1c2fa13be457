// Which knowledge base an agent is asked about, for this tab. Empty: all that the caller may read.

const key = (agent) => `kb:${agent}`;

export const of = (agent) => sessionStorage.getItem(key(agent)) ?? "";

export function choose(agent, kbId) {
  if (kbId) sessionStorage.setItem(key(agent), kbId);
  else sessionStorage.removeItem(key(agent));
}
