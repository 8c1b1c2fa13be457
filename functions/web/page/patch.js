// RFC 6902 JSON patch, applied to a copy. Used by STATE_DELTA and ACTIVITY_DELTA.

const segments = (pointer) => pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const hasOwn = (target, key) => (Array.isArray(target) ? Number(key) < target.length : Object.hasOwn(Object(target), key));

function read(root, path) {
  return segments(path).reduce((node, key) => {
    if (!hasOwn(node, key)) throw new RangeError(`no value at ${path}`);
    return node[key];
  }, root.value);
}

function write(root, path, change) {
  const keys = ["value", ...segments(path)];
  const last = keys.pop();
  const parent = keys.reduce((node, key) => {
    if (!hasOwn(node, key)) throw new RangeError(`no value at ${path}`);
    return node[key];
  }, root);
  change(parent, last);
}

function add(parent, key, value) {
  if (!Array.isArray(parent)) define(parent, key, value);
  else parent.splice(key === "-" ? parent.length : Number(key), 0, value);
}

function remove(parent, key) {
  if (!hasOwn(parent, key)) throw new RangeError(`no value at ${key}`);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

// `__proto__` in a patch must become an ordinary key, never the prototype.
function define(parent, key, value) {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
}

const OPERATIONS = {
  add: (root, op) => write(root, op.path, (parent, key) => add(parent, key, op.value)),
  remove: (root, op) => write(root, op.path, remove),
  replace: (root, op) => write(root, op.path, (parent, key) => define(parent, key, op.value)),
  copy: (root, op) => OPERATIONS.add(root, { path: op.path, value: structuredClone(read(root, op.from)) }),
  move: (root, op) => {
    const value = read(root, op.from);
    OPERATIONS.remove(root, { path: op.from });
    OPERATIONS.add(root, { path: op.path, value });
  },
  test: (root, op) => {
    if (JSON.stringify(read(root, op.path)) !== JSON.stringify(op.value)) throw new RangeError(`test failed at ${op.path}`);
  },
};

/** The patched copy of `document`. Throws RangeError when an operation does not fit; `document` is never changed. */
export function applyPatch(document, operations) {
  const root = { value: structuredClone(document ?? {}) };
  for (const op of operations) {
    const run = OPERATIONS[op.op];
    if (!run) throw new RangeError(`unknown operation ${op.op}`);
    run(root, op);
  }
  return root.value;
}
