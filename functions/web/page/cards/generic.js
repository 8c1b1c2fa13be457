// Any other kind: the answer is written as JSON, prefilled from the interrupt's response schema.

import { el } from "../view/dom.js";

const MAX_DEPTH = 6;

const isCancellation = (schema) => Boolean(schema.properties?.cancelled);

const SKELETONS = {
  string: () => "",
  number: (schema) => schema.minimum ?? 0,
  integer: (schema) => schema.minimum ?? 0,
  boolean: () => false,
  array: () => [],
  null: () => null,
};

/** A value that shows the shape `schema` asks for. `root` resolves its local $refs. */
export function skeleton(schema, root = schema, depth = 0) {
  if (!schema || depth > MAX_DEPTH) return null;
  if (schema.$ref) return skeleton(schema.$ref.split("/").slice(1).reduce((node, key) => node?.[key], root), root, depth + 1);
  if ("default" in schema) return schema.default;
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return skeleton(choices.find((choice) => !isCancellation(resolve(choice, root))) ?? choices[0], root, depth + 1);
  if (schema.properties) return Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, skeleton(inner, root, depth + 1)]));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  return SKELETONS[type]?.(schema) ?? {};
}

function resolve(schema, root) {
  return schema.$ref ? schema.$ref.split("/").slice(1).reduce((node, key) => node?.[key], root) ?? {} : schema;
}

export function genericCard(record, answer, { responseSchema, metadata }) {
  const error = el("p", { class: "field-error", role: "alert", hidden: true });
  const prefilled = JSON.stringify(skeleton(responseSchema) ?? {}, null, 2);
  const field = el("textarea", { class: "field mono", rows: Math.min(10, prefilled.split("\n").length + 1), spellcheck: "false", "aria-label": "Answer as JSON" });
  field.value = prefilled;
  const form = el("form", { class: "card-form", on: { submit: (event) => {
    event.preventDefault();
    const payload = parseAnswer(field.value, error);
    if (payload !== undefined) answer(payload, JSON.stringify(payload));
  } } }, field, error, el("div", { class: "card-buttons" }, el("button", { type: "submit", class: "primary" }, "Send answer")));
  return { body: [disclosure("What the agent sent", metadata?.payload ?? metadata), form, disclosure("Answer schema", responseSchema)], focus: field };
}

function parseAnswer(text, error) {
  try {
    error.hidden = true;
    return JSON.parse(text);
  } catch (reason) {
    error.textContent = `Not JSON: ${reason.message}`;
    error.hidden = false;
    return undefined;
  }
}

function disclosure(title, content) {
  if (content === null || content === undefined) return null;
  return el("details", { class: "disclosure" }, el("summary", {}, title), el("pre", { tabindex: 0 }, JSON.stringify(content, null, 2)));
}
