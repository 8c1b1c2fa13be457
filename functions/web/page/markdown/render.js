// Blocks → DOM. A growing text redraws only the blocks whose source changed, which is the last one while a model writes.

import { copyButton } from "../view/copy.js";
import { el } from "../view/dom.js";
import { parse } from "./blocks.js";
import { inline } from "./inline.js";

const cell = (tag) => (text) => el(tag, {}, ...inline(text));

const BLOCKS = {
  paragraph: ({ text }) => el("p", {}, ...inline(text)),
  // The page has its own h1 and h2; a model's headings go below them.
  heading: ({ level, text }) => el(`h${Math.min(6, level + 2)}`, {}, ...inline(text)),
  rule: () => el("hr"),
  quote: ({ blocks }) => el("blockquote", {}, ...blocks.map(draw)),
  list: ({ ordered, start, items }) => el(ordered ? "ol" : "ul", ordered && start !== 1 ? { start } : {}, ...items.map(item)),
  code: ({ language, text }) =>
    el("figure", { class: "code" },
      el("figcaption", {}, language || "text", copyButton(() => text, "Copy code")),
      el("pre", { tabindex: 0 }, el("code", {}, text))),
  table: ({ head, rows }) =>
    el("div", { class: "table", tabindex: 0 },
      el("table", {},
        el("thead", {}, el("tr", {}, ...head.map(cell("th")))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell("td"))))))),
};

// A one-line item is text, not a paragraph, so that lists stay tight.
function item(blocks) {
  return el("li", {}, ...blocks.flatMap((block) => (block.type === "paragraph" ? inline(block.text) : [draw(block)])));
}

const draw = (block) => BLOCKS[block.type](block);

/** Draws a text that grows into `root`. */
export class Markdown {
  #text = "";
  #sources = [];

  constructor(root) {
    this.root = root;
  }

  update(text) {
    if (text === this.#text) return;
    this.#text = text;
    const blocks = parse(text);
    const same = blocks.findIndex((block, index) => block.source !== this.#sources[index]);
    const from = same < 0 ? blocks.length : same;
    while (this.root.childNodes.length > from) this.root.lastChild.remove();
    this.root.append(...blocks.slice(from).map(draw));
    this.#sources = blocks.map(({ source }) => source);
  }
}
