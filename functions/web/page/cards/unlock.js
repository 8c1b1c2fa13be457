// unlock: a key that waits for the reader's word → {}.

import { el } from "../view/dom.js";

export function unlockCard(record, answer) {
  const unlock = el("button", { type: "button", class: "primary", on: { click: () => answer({}, "Unlocked") } }, "Unlock");
  return { body: [record.key ? el("p", { class: "unlock-key" }, el("code", {}, String(record.key))) : null, el("div", { class: "card-buttons" }, unlock)] };
}
