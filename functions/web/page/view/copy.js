// A button that copies text and says so.

import { el, icon } from "./dom.js";

const SHOWN_MS = 1500;

/** `read`: what to copy, asked at the click. `label`: the button's name. */
export function copyButton(read, label, { text = "" } = {}) {
  const button = el("button", { type: "button", class: text ? "ghost small" : "icon-button small", "aria-label": label, title: label }, icon("copy"));
  const words = text ? button.appendChild(el("span", {}, text)) : null;
  button.addEventListener("click", async () => {
    const copied = await copy(read());
    button.replaceChild(icon(copied ? "check" : "cross"), button.firstChild);
    if (words) words.textContent = copied ? "Copied" : "Not copied";
    setTimeout(() => {
      button.replaceChild(icon("copy"), button.firstChild);
      if (words) words.textContent = text;
    }, SHOWN_MS);
  });
  return button;
}

// The clipboard is refused on plain-HTTP pages and without permission; the button shows a cross then.
function copy(text) {
  return navigator.clipboard ? navigator.clipboard.writeText(text).then(() => true, () => false) : Promise.resolve(false);
}
