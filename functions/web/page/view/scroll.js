// Follows the end of a growing list, unless the reader has scrolled up.

const NEAR_END_PX = 60;

export class Follower {
  #following = true;

  /** `box` scrolls; `button` brings the reader back to the end and shows only when away from it. */
  constructor(box, button) {
    this.box = box;
    this.button = button;
    box.addEventListener("scroll", () => this.look(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.afterDraw()).observe(box);
  }

  /** To be called when what the box holds has changed. */
  afterDraw() {
    if (this.#following) this.box.scrollTop = this.box.scrollHeight;
    else this.look();
  }

  toEnd() {
    this.#following = true;
    this.button.hidden = true;
    this.box.scrollTop = this.box.scrollHeight;
  }

  /** Follows only when the reader is at the end now. */
  look() {
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    this.#following = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    this.button.hidden = this.#following;
  }
}
