// At most one drawing per animation frame, however many events came in between.

const HIDDEN_TAB_MS = 200;

/** A function that asks for `draw` in the next frame. A hidden tab has no frames: a timer stands in. */
export function eachFrame(draw) {
  let pending = false;
  const run = () => {
    pending = false;
    draw();
  };
  return () => {
    if (pending) return;
    pending = true;
    if (document.hidden) setTimeout(run, HIDDEN_TAB_MS);
    else requestAnimationFrame(run);
  };
}
