// Inline Markdown → DOM nodes: code, links, bold, italic, struck. Model text only ever becomes text nodes.

import { el } from "../view/dom.js";

// Each alternative is linear: its inside excludes its own delimiter.
const TOKEN = new RegExp(
  [
    /(?<ticks>`+)(?<code>[^`]+)\k<ticks>(?!`)/,
    /!?\[(?<label>(?:\\.|[^[\]\\])*)\]\((?<href>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/,
    /\*\*(?<bold>(?=\S)[^*]*(?:\*(?!\*)[^*]+)*)\*\*/,
    /(?<![\w*])\*(?<star>(?=\S)[^*\n]+)\*(?![\w*])/,
    /(?<!\w)_(?<under>(?=\S)[^_\n]+)_(?!\w)/,
    /~~(?<struck>[^~]+)~~/,
    /(?<url>https?:\/\/[^\s<>"'`()，。；：）」』】]+[^\s<>"'`().,;:!?，。；：）」』】])/,
    /\\(?<escaped>[\\`*_{}[\]()#+\-.!|~])/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

/** `href` itself when `href` leads to http(s), relative addresses included; null for any other scheme. */
export function safeLink(href) {
  if (!href || !URL.canParse(href, document.baseURI)) return null;
  return /^https?:$/.test(new URL(href, document.baseURI).protocol) ? href : null;
}

const CITATION = /^\/kb\?/;

function link(label, href) {
  if (!safeLink(href)) return el("span", {}, ...label);
  if (CITATION.test(href)) return el("a", { href, class: "citation-link", target: "_blank", rel: "noopener noreferrer" }, ...label);
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, ...label);
}

function node(groups) {
  const { code, label, href, bold, star, under, struck, url, escaped } = groups;
  if (code !== undefined) return el("code", {}, code.trim() || code);
  if (label !== undefined) return link(label ? inline(label) : [href], href);
  if (bold !== undefined) return el("strong", {}, ...inline(bold));
  if (star !== undefined || under !== undefined) return el("em", {}, ...inline(star ?? under));
  if (struck !== undefined) return el("s", {}, ...inline(struck));
  return url !== undefined ? link([url], url) : escaped;
}

/** Nodes and strings for one run of text; a single line break is a line break. */
export function inline(text) {
  const out = [];
  let rest = text;
  for (let match; (match = TOKEN.exec(rest)); ) {
    out.push(...lines(rest.slice(0, match.index)), node(match.groups));
    rest = rest.slice(match.index + match[0].length);
  }
  return [...out, ...lines(rest)];
}

function lines(text) {
  return text.split("\n").flatMap((line, index) => (index ? [el("br"), line] : [line])).filter((part) => part !== "");
}
