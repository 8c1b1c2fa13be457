// Lays JSON out as it arrives: works on a prefix too, so that tool arguments grow in place and nothing jumps when they are complete.

const TOKEN = /"(?:\\.|[^"\\])*"?|[{[]\s*[}\]]|[{}[\],:]|[^\s{}[\],:"]+/gs;

const newline = (depth) => `\n${"  ".repeat(depth)}`;

/** `text` (JSON, possibly cut anywhere) with line breaks and two-space indents. Text that is no object or array comes back as it is. */
export function layOut(text) {
  if (!/^\s*[{[]/.test(text)) return text;
  let depth = 0;
  return text.replace(/^\s+/, "").match(TOKEN).map((token) => {
    if (token === "{" || token === "[") return token + newline((depth += 1));
    if (token === "}" || token === "]") return newline((depth = Math.max(0, depth - 1))) + token;
    if (token === ",") return token + newline(depth);
    return token === ":" ? ": " : token;
  }).join("");
}
