// Rows in a tool's text, in the shapes market data servers use: a list, a list in an object, or {fields, items}.

const WRAPPERS = ["data", "items", "records", "result"];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function unwrap(value) {
  if (Array.isArray(value)) return value.filter(isObject);
  if (!isObject(value)) return [];
  if (Array.isArray(value.fields) && Array.isArray(value.items)) {
    return value.items.filter(Array.isArray).map((item) => Object.fromEntries(value.fields.map((field, index) => [field, item[index]])));
  }
  const key = WRAPPERS.find((name) => typeof value[name] === "object" && value[name] !== null);
  return key ? unwrap(value[key]) : [];
}

/** {rows, note}; `note` is what a result says that is only a sample. No rows where the text is no JSON. */
export function parseRows(text) {
  try {
    const value = JSON.parse(text);
    return { rows: unwrap(value), note: value?.sample ? String(value.note ?? "Sample data") : "" };
  } catch {
    return { rows: [], note: "" };
  }
}
