// Server-sent events over a fetch body: frames end in a blank line, each carries one JSON object in its `data:` lines.
// Comments (heartbeats) and other fields are skipped. The browser's EventSource cannot POST, hence this parser.

const BOUNDARY = /\r\n\r\n|\n\n|\r\r/;

/** Joins the `data:` lines of one frame; null when the frame has none (a comment, an id). */
export function frameData(frame) {
  const lines = frame
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5));
  return lines.length ? lines.join("\n") : null;
}

/** Yields the parsed object of each frame. Throws SyntaxError on a frame that is not JSON (a stream cut in its middle). */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      buffer += done ? "\n\n" : value;
      let match;
      while ((match = BOUNDARY.exec(buffer))) {
        const data = frameData(buffer.slice(0, match.index));
        buffer = buffer.slice(match.index + match[0].length);
        if (data !== null) yield JSON.parse(data);
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // the body may have failed already; there is nothing left to free then
  }
}
