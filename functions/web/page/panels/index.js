// Which agents have a view of their own beside the conversation. It is imported when such an agent is opened.
//
// A panel is an object with any of: `root` (an element), state() → what every run sends along with the thread's state, takes(event) → true for
// a CUSTOM event that the panel shows itself, heard(event) after each event, draw() in each frame with a change, close().

const PANELS = {
  writer: () => import("./editor/panel.js"),
  editorChat: () => import("./editor/panel.js"),
};

/**
 * The panel of an agent, or null. `context`: agent (its name), threadId, session, send(text, given) a message from the panel (`given` is sent
 * instead of what state() says), keep() makes a reload come back to this thread.
 */
export async function openPanel(context) {
  const load = PANELS[context.agent];
  return load ? (await load()).open(context) : null;
}
