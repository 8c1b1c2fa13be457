// Markdown text → blocks, as data: {type, source, …}. `source` is the block's own text, so a block that did not change need not be drawn again.

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/;

const startsBlock = (line) => [FENCE, HEADING, RULE, ITEM, QUOTE].some((pattern) => pattern.test(line));
const blank = (line) => line.trim() === "";

/** Takes lines from `at` on while `wanted` holds; the index after them. */
function span(lines, at, wanted) {
  let end = at;
  while (end < lines.length && wanted(lines[end], end)) end += 1;
  return end;
}

function fence(lines, at) {
  const [, mark, info] = FENCE.exec(lines[at]);
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`);
  const end = span(lines, at + 1, (line) => !closing.test(line));
  return [{ type: "code", language: info.trim().split(/\s/)[0], text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function heading(lines, at) {
  const [, marks, text] = HEADING.exec(lines[at]);
  return [{ type: "heading", level: marks.length, text }, at + 1];
}

function quote(lines, at) {
  const end = span(lines, at, (line) => QUOTE.test(line));
  const inner = lines.slice(at, end).map((line) => QUOTE.exec(line)[1]);
  return [{ type: "quote", blocks: parse(inner.join("\n")) }, end];
}

function list(lines, at) {
  const indent = ITEM.exec(lines[at])[1].length;
  const ordered = /\d/.test(ITEM.exec(lines[at])[2]);
  const items = [];
  const belongs = (line, index) => {
    if (blank(line)) return index + 1 < lines.length && (/^\s{2,}/.test(lines[index + 1]) || ITEM.test(lines[index + 1]));
    const item = ITEM.exec(line);
    if (item && item[1].length <= indent + 1) return /\d/.test(item[2]) === ordered && item[1].length >= indent - 1;
    return /^\s{2,}/.test(line) || (!startsBlock(line) && !blank(lines[index - 1] ?? ""));
  };
  const end = span(lines, at, belongs);
  for (const line of lines.slice(at, end)) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= indent + 1) items.push([item[3]]);
    else items.at(-1).push(line.replace(/^\s{1,4}/, ""));
  }
  const start = ordered ? parseInt(ITEM.exec(lines[at])[2], 10) : 1;
  return [{ type: "list", ordered, start, items: items.map((item) => parse(item.join("\n"))) }, end];
}

function table(lines, at) {
  const end = span(lines, at, (line) => line.includes("|") && !blank(line));
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const [head, , ...rows] = lines.slice(at, end);
  return [{ type: "table", head: cells(head), rows: rows.map(cells) }, end];
}

function paragraph(lines, at) {
  const end = span(lines, at, (line, index) => !blank(line) && (index === at || !startsBlock(line)));
  return [{ type: "paragraph", text: lines.slice(at, end).join("\n").trim() }, end];
}

function block(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return fence(lines, at);
  if (HEADING.test(line)) return heading(lines, at);
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (QUOTE.test(line)) return quote(lines, at);
  if (ITEM.test(line)) return list(lines, at);
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return table(lines, at);
  return paragraph(lines, at);
}

/** All blocks of `text`, in order. Never throws: anything is a paragraph at least. */
export function parse(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (blank(lines[at])) at += 1;
    else {
      const [parsed, end] = block(lines, at);
      blocks.push({ ...parsed, source: lines.slice(at, end).join("\n") });
      at = end;
    }
  }
  return blocks;
}
