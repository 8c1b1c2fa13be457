// Where the access token is put in, beside the agents; only for those that ask for one.

import { keepToken, token } from "../token.js";
import { el } from "./dom.js";

export class TokenField {
  #input = el("input", {
    type: "password",
    id: "token",
    class: "field small",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "eyJ…",
    "aria-describedby": "token-hint",
    on: { change: () => this.#changed() },
  });

  /** `changed()` is called when another token is there. */
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    this.#input.value = token();
    root.replaceChildren(el("label", { for: "token" }, "Access token"), this.#input,
      el("p", { id: "token-hint" }, "This agent asks for one. It stays in this tab."));
  }

  draw(agent) {
    this.root.hidden = agent.auth !== "jwt";
  }

  #changed() {
    keepToken(this.#input.value);
    this.changed();
  }
}
