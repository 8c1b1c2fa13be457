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

/** False when there is no room even without the others; the others are all there then. */
export function write(thread, kept) {
  const name = key(thread);
  const value = JSON.stringify({ at: Date.now(), kept });
  if (put(name, value)) return true;
  const forgotten = [];
  for (const other of othersByAge(name)) {
    forgotten.push([other, localStorage.getItem(other)]);
    localStorage.removeItem(other);
    if (put(name, value)) return true;
  }
  for (const [other, text] of forgotten.reverse()) put(other, text);
  return false;
}

function put(name, value) {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false; // no room
  }
}

function othersByAge(but) {
  const age = (name) => Number(/^{"at":(\d+)/.exec(localStorage.getItem(name))?.[1] ?? 0);
  const others = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX) && name !== but);
  return others.map((name) => [age(name), name]).sort(([a], [b]) => a - b).map(([, name]) => name);
}
