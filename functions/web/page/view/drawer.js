// A side pane: beside the conversation where there is room, over it as a drawer where there is not.

const WIDE = { agents: "(min-width: 760px)", events: "(min-width: 1180px)" };

export class Drawer {
  #media;

  /** `pane` is shown or hidden by `button`; `remember` is the storage key of the reader's choice on wide screens, or null. */
  constructor(name, pane, button, backdrop, remember = null) {
    Object.assign(this, { pane, button, backdrop, remember });
    this.#media = matchMedia(WIDE[name]);
    button.addEventListener("click", () => this.show(pane.hidden));
    backdrop.addEventListener("click", () => this.isOver && this.show(false));
    pane.addEventListener("keydown", (event) => event.key === "Escape" && this.isOver && this.#leave(event));
    this.#media.addEventListener("change", () => this.#settle());
    this.#settle();
  }

  /** It lies over the conversation now (narrow screen, open). */
  get isOver() {
    return !this.#media.matches && !this.pane.hidden;
  }

  show(visible) {
    this.pane.hidden = !visible;
    this.button.setAttribute("aria-expanded", String(visible));
    this.backdrop.hidden = !document.querySelector(".pane:not([hidden])") || !this.isOver;
    if (this.#media.matches && this.remember) localStorage.setItem(this.remember, visible ? "shown" : "hidden");
    if (this.isOver) this.pane.querySelector("a, button, input")?.focus();
  }

  #leave(event) {
    event.stopPropagation();
    this.show(false);
    this.button.focus();
  }

  #settle() {
    const wanted = this.#media.matches && !(this.remember && localStorage.getItem(this.remember) === "hidden");
    this.pane.hidden = !wanted;
    this.button.setAttribute("aria-expanded", String(wanted));
    this.backdrop.hidden = true;
  }
}
