// The conversation's title in the top bar: a button that turns into a field. Enter or leaving the field keeps it, Escape does not.

import { el } from "./dom.js";

const LONGEST = 200;
const MODEL_TITLE_MS = 3000;

export class ThreadTitle {
  #agent = null;
  #thread = "";
  #shown = "";
  #later = 0;
  #button = el("button", { type: "button", class: "thread-title", title: "Rename this conversation", dir: "auto", on: { click: () => this.#edit() } });
  #field = el("input", { type: "text", class: "thread-title-field", maxlength: LONGEST, dir: "auto", "aria-label": "Title of this conversation", hidden: true });

  constructor(root) {
    root.replaceChildren(this.#button, this.#field);
    this.#field.addEventListener("keydown", (event) => {
      event.stopPropagation(); // Escape would stop the run
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault(); // else the same Enter presses the button that has the focus next
      this.#close(event.key === "Enter");
    });
    this.#field.addEventListener("blur", () => this.#close(true));
    this.#draw("");
  }

  /** Another thread: nothing of the one before is shown. */
  show(agent, thread) {
    clearTimeout(this.#later);
    this.#field.hidden = true;
    this.#agent = agent;
    this.#thread = thread;
    this.#draw("");
  }

  /** Asks the agent for the title. A model makes it after the run's end, so a title of the rule's is asked for once more. */
  async refresh(again = true) {
    const [agent, thread] = [this.#agent, this.#thread];
    const row = await agent.conversation(thread);
    if (!row || agent !== this.#agent || thread !== this.#thread) return;
    if (this.#field.hidden) this.#draw(row.title);
    clearTimeout(this.#later);
    if (again && row.titledBy !== "user") this.#later = setTimeout(() => this.refresh(false), MODEL_TITLE_MS);
  }

  #draw(title) {
    this.#shown = title;
    this.#button.hidden = !title;
    this.#button.textContent = title;
    this.#button.setAttribute("aria-label", `Title: ${title}. Rename`);
  }

  #edit() {
    this.#field.value = this.#shown;
    this.#field.hidden = false;
    this.#button.hidden = true;
    this.#field.focus();
    this.#field.select();
  }

  async #close(keep) {
    if (this.#field.hidden) return;
    const [agent, thread, before, wanted] = [this.#agent, this.#thread, this.#shown, this.#field.value.trim()];
    const hadFocus = document.activeElement === this.#field;
    this.#field.hidden = true;
    const changed = keep && wanted && wanted !== before;
    this.#draw(changed ? wanted : before);
    if (hadFocus) this.#button.focus();
    if (changed && !(await agent.rename(thread, wanted)) && thread === this.#thread) this.#draw(before);
  }
}
