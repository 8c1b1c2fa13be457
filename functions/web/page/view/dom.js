// Elements from data. Strings become text nodes and nothing else: there is no way from here to HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element; `props`: class, dataset, on (listeners), booleans and attributes. Children: nodes, strings, null (left out). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  const { class: className, dataset, on, ...attributes } = props;
  if (className) node.className = className;
  Object.assign(node.dataset, dataset);
  for (const [type, listener] of Object.entries(on ?? {})) node.addEventListener(type, listener);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function setAttribute(node, name, value) {
  if (value === true) node.setAttribute(name, "");
  else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
}

/** An icon of the sprite in index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

/** Sets text only when it differs, so that an unchanged node is not laid out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let serial = 0;

/** An id for aria references, unique in the page. */
export function freshId(prefix) {
  return `${prefix}-${(serial += 1)}`;
}
