// A textarea knows line feeds only; a document keeps the line ends it came with. Offsets are UTF-16 code units on both sides.

/** The document as a textarea shows it. */
export const toDisplay = (text) => (text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text);

/** The line end that most lines of the document have: what a new line gets. */
export function endOf(text) {
  const crlf = text.match(/\r\n/g)?.length ?? 0;
  const all = text.match(/\n/g)?.length ?? 0;
  return crlf > all / 2 ? "\r\n" : "\n";
}

export const withEnds = (text, end) => (end === "\n" ? toDisplay(text) : toDisplay(text).replaceAll("\n", end));

/** Offset in the textarea → offset in the document. */
export function toSource(text, shown) {
  let at = shown;
  for (let pair = text.indexOf("\r\n"); pair !== -1 && pair < at; pair = text.indexOf("\r\n", pair + 2)) at += 1;
  return at;
}

/** Offset in the document → offset in the textarea. */
export function toShown(text, at) {
  let pairs = 0;
  for (let pair = text.indexOf("\r\n"); pair !== -1 && pair < at; pair = text.indexOf("\r\n", pair + 2)) pairs += 1;
  return at - pairs;
}

/** The smallest {from, to, text} that makes `after` of `before`, or null. */
export function editBetween(before, after) {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)) tail += 1;
  return { from: head, to: before.length - tail, text: after.slice(head, after.length - tail) };
}
