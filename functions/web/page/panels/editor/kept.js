// The document of each thread, in this browser. The oldest give way when the browser's room is full.

const PREFIX = "document:";
const key = ({ agent, threadId }) => `${PREFIX}${agent}/${threadId}`;

/** {text, suggestions, instruction, …} as it was kept, or null. */
export function read(thread) {
  try {
    return JSON.parse(localStorage.getItem(key(thread)))?.kept ?? null;
  } catch {
    return null; // written by something else
  }
}

/** False when there is no room even without the others. */
export function write(thread, kept) {
  const value = JSON.stringify({ at: Date.now(), kept });
  for (;;) {
    try {
      localStorage.setItem(key(thread), value);
      return true;
    } catch (error) {
      if (error.name !== "QuotaExceededError" || !forgetOldest(key(thread))) return false;
    }
  }
}

function forgetOldest(but) {
  const others = Object.keys(localStorage).filter((one) => one.startsWith(PREFIX) && one !== but);
  const age = (one) => Number(/^{"at":(\d+)/.exec(localStorage.getItem(one))?.[1] ?? 0);
  const [oldest] = others.sort((a, b) => age(a) - age(b));
  if (oldest) localStorage.removeItem(oldest);
  return Boolean(oldest);
}
