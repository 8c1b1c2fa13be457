// Price over volume as SVG, in real pixels. Red is up and green is down, as Chinese markets have it; up is hollow too, for eyes without colour.

const SVG = "http://www.w3.org/2000/svg";
const PRICE = { top: 10, height: 150 };
const VOLUME = { top: 184, height: 46 };
const AXIS = { left: 4, right: 56, bottom: 20 };
const HEIGHT = VOLUME.top + VOLUME.height + AXIS.bottom;
const MOST_CANDLES = 90; // more are a line
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

let serial = 0;

/** An SVG element; strings become text nodes. */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const round = (value) => Math.round(value * 10) / 10;

function scales(quotes, width) {
  const [low, high] = [Math.min(...quotes.map((one) => one.low)), Math.max(...quotes.map((one) => one.high))];
  const most = Math.max(...quotes.map((one) => one.vol)) || 1;
  const step = (width - AXIS.left - AXIS.right) / quotes.length;
  return {
    low, high, most, step,
    x: (index) => round(AXIS.left + (index + 0.5) * step),
    y: (price) => round(PRICE.top + PRICE.height * (high > low ? (high - price) / (high - low) : 0.5)),
    volume: (vol) => round(VOLUME.height * (vol / most)),
  };
}

const direction = (one) => (one.close >= one.open ? "up" : "down");

function candle(one, index, { x, y, step }) {
  const body = Math.max(1, round(Math.min(11, step * 0.64)));
  const [top, bottom] = [y(Math.max(one.open, one.close)), y(Math.min(one.open, one.close))];
  const middle = x(index);
  return svg("g", { class: `candle ${direction(one)}` },
    svg("path", { class: "wick", d: `M${middle} ${y(one.high)}V${top}M${middle} ${bottom}V${y(one.low)}` }),
    svg("rect", { x: round(middle - body / 2), y: top, width: body, height: Math.max(1, round(bottom - top)) }));
}

const line = (quotes, { x, y }) =>
  svg("polyline", { class: "closes", points: quotes.map((one, index) => `${x(index)},${y(one.close)}`).join(" ") });

function bar(one, index, { x, volume, step }) {
  const [width, height] = [Math.max(1, round(Math.min(11, step * 0.64))), volume(one.vol)];
  return svg("rect", { class: `volume ${direction(one)}`, x: round(x(index) - width / 2), y: round(VOLUME.top + VOLUME.height - height), width, height });
}

const rule = (y, width) => svg("line", { class: "rule", x1: AXIS.left, x2: width - AXIS.right, y1: y, y2: y });
const label = (x, y, text, anchor = "start") => svg("text", { x, y, "text-anchor": anchor }, text);

function axes(quotes, width, { low, high, most, y }) {
  const right = width - AXIS.right + 6;
  const levels = [high, (high + low) / 2, low];
  return [
    ...levels.flatMap((price) => [rule(y(price), width), label(right, y(price) + 4, number.format(price))]),
    rule(VOLUME.top + VOLUME.height, width),
    label(right, VOLUME.top + 10, short.format(most)),
    label(AXIS.left, HEIGHT - 4, quotes[0].date),
    label(width - AXIS.right, HEIGHT - 4, quotes.at(-1).date, "end"),
  ];
}

/** Follows the pointer: a line at the quote under it, and `read(quote)`; `read(null)` when it leaves. */
function pointing(root, quotes, { x, step }, read) {
  const mark = svg("line", { class: "mark", y1: PRICE.top, y2: VOLUME.top + VOLUME.height, visibility: "hidden" });
  root.append(mark);
  root.addEventListener("pointermove", (event) => {
    const index = Math.floor((event.clientX - root.getBoundingClientRect().left - AXIS.left) / step);
    const inside = index >= 0 && index < quotes.length;
    mark.setAttribute("visibility", inside ? "visible" : "hidden");
    if (inside) for (const end of ["x1", "x2"]) mark.setAttribute(end, x(index));
    read(inside ? quotes[index] : null);
  });
  root.addEventListener("pointerleave", () => {
    mark.setAttribute("visibility", "hidden");
    read(null);
  });
}

/** The chart of quotes ({date, open, high, low, close, vol}, oldest first), `width` pixels wide, with its title and description. */
export function drawChart(quotes, { width, title, description, read }) {
  const [titleId, descriptionId] = ["title", "description"].map((part) => `chart-${part}-${(serial += 1)}`);
  const scale = scales(quotes, width);
  const drawn = quotes.length > MOST_CANDLES ? [line(quotes, scale)] : quotes.map((one, index) => candle(one, index, scale));
  const root = svg("svg", { role: "img", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-labelledby": titleId, "aria-describedby": descriptionId },
    svg("title", { id: titleId }, title),
    svg("desc", { id: descriptionId }, description),
    ...axes(quotes, width, scale), ...quotes.map((one, index) => bar(one, index, scale)), ...drawn);
  pointing(root, quotes, scale, read);
  return root;
}
