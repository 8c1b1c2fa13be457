// Tool results that are shown as more than their text, by the name of the tool. A view is a function: the result's text → an element, or
// null where the text is not what the view can show (an error, an empty answer): then the text stands alone.

import { prices } from "./prices.js";

const VIEWS = { daily: prices, weekly: prices, monthly: prices, index_daily: prices, fund_daily: prices, pro_bar: prices };

/** The view of what `tool` returned, or null. */
export function resultView(tool, text) {
  return Object.hasOwn(VIEWS, tool) ? VIEWS[tool](text) : null;
}
