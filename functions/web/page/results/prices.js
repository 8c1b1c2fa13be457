// Daily or monthly quotes as a figure: a chart of price and volume, what it shows in words, and the same as a table.

import { el, setText } from "../view/dom.js";
import { drawChart } from "./chart.js";
import { parseRows } from "./rows.js";

const COLUMNS = { Date: "date", Open: "open", High: "high", Low: "low", Close: "close", Volume: "vol" };
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** A row as the chart takes it, or null without a day and a price. Open, high and low fall back to the close, volume to 0. */
function quote(row) {
  const [close, vol] = [Number(row.close), Number(row.vol ?? row.volume ?? 0)];
  const digits = String(row.trade_date ?? row.date ?? "").replaceAll("-", "");
  if (!/^\d{8}$/.test(digits) || row.close === null || !Number.isFinite(close)) return null;
  const price = (value) => (value !== null && value !== undefined && Number.isFinite(Number(value)) ? Number(value) : close);
  const date = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
  return { code: String(row.ts_code ?? ""), date, open: price(row.open), high: price(row.high), low: price(row.low), close, vol: Number.isFinite(vol) ? vol : 0 };
}

/** The quotes of one stock, oldest first: of several only the first is drawn. */
function series(rows) {
  const quotes = rows.map(quote).filter(Boolean);
  return quotes.filter(({ code }) => code === quotes[0].code).sort((a, b) => a.date.localeCompare(b.date));
}

function words(quotes) {
  const [first, last] = [quotes[0], quotes.at(-1)];
  const high = Math.max(...quotes.map((one) => one.high));
  const low = Math.min(...quotes.map((one) => one.low));
  const change = ((last.close / first.close - 1) * 100).toFixed(2);
  return `${quotes.length} quotes from ${first.date} to ${last.date}: close ${number.format(first.close)} to ${number.format(last.close)} `
    + `(${change > 0 ? "+" : ""}${change}%), high ${number.format(high)}, low ${number.format(low)}.`;
}

const cell = (one, key) => el("td", {}, key === "date" ? one.date : number.format(one[key]));

function table(quotes) {
  const rows = quotes.toReversed().map((one) => el("tr", {}, ...Object.values(COLUMNS).map((key) => cell(one, key))));
  return el("details", { class: "chart-table" },
    el("summary", {}, "Show as a table"),
    el("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Quotes" },
      el("table", {},
        el("thead", {}, el("tr", {}, ...Object.keys(COLUMNS).map((title) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, ...rows))));
}

/** The figure, or null with fewer than two quotes. It is drawn anew whenever its width changes, so that its words keep their size. */
export function prices(text) {
  const { rows, note } = parseRows(text);
  const quotes = series(rows);
  if (quotes.length < 2) return null;
  const [title, description] = [`${quotes[0].code} price and volume`.trim(), words(quotes)];
  const slot = el("div", { class: "chart" });
  const reading = el("p", { class: "chart-reading", "aria-hidden": "true" });
  const read = (one) => setText(reading, one ? `${one.date}  close ${number.format(one.close)}  volume ${number.format(one.vol)}` : " ");
  read(null);
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width) slot.replaceChildren(drawChart(quotes, { width: contentRect.width, title, description, read }));
  }).observe(slot);
  const badge = note ? el("span", { class: "chart-sample", title: note }, "Sample data") : null;
  return el("figure", { class: "prices" },
    el("figcaption", {}, el("span", { class: "chart-title" }, title), badge, el("span", { class: "chart-words" }, description)),
    slot, reading, table(quotes));
}
