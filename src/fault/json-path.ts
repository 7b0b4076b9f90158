import { isObject } from '../sse/dialect.js';

/** A place in JSON, written as one writes it in JavaScript: `choices[0].delta.tool_calls[-1].index`. */
const STEP = /^(?:\.?([A-Za-z_$][\w$-]*)|\[(-?\d{1,6})\]|\[("(?:[^"\\]|\\.)*")\])/;

/** The text of a JSON string; `undefined` where its escapes are none. */
function unquoted(json: string): string | undefined {
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** The keys and indexes of a path, or `undefined` for what is none. */
export function stepsOfPath(path: string): (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  let rest = path;
  while (rest !== '') {
    const match = STEP.exec(rest);
    if (!match) return undefined;
    const [whole, key, index, quoted = ''] = match;
    const step = index === undefined ? (key ?? unquoted(quoted)) : Number(index);
    if (step === undefined) return undefined;
    steps.push(step);
    rest = rest.slice(whole.length);
  }
  return steps.length > 0 ? steps : undefined;
}

/** `value` at `steps` of `json`, which is left as it was. What isn't there yet is made on the way. Keys keep their order. */
function patched(json: unknown, steps: readonly (string | number)[], value: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (typeof step === 'string') {
    const object = isObject(json) ? json : {};
    return { ...object, [step]: patched(object[step], rest, value) };
  }
  const list: readonly unknown[] = Array.isArray(json) ? json : [];
  const at = step < 0 ? list.length + step : step;
  return list.length <= at
    ? [...list, ...Array.from({ length: at - list.length }, () => null), patched(undefined, rest, value)]
    : list.map((item, n) => (n === at ? patched(item, rest, value) : item));
}

/** `json` without what stands at `steps`; as it is, where nothing does. */
function without(json: unknown, steps: readonly (string | number)[]): unknown {
  const [step, ...rest] = steps;
  if (typeof step === 'number' && Array.isArray(json)) {
    const at = step < 0 ? json.length + step : step;
    return rest.length === 0
      ? json.filter((_, n) => n !== at)
      : json.map((item: unknown, n) => (n === at ? without(item, rest) : item));
  }
  if (typeof step !== 'string' || !isObject(json) || !Object.hasOwn(json, step)) return json;
  return rest.length === 0
    ? Object.fromEntries(Object.entries(json).filter(([key]) => key !== step))
    : { ...json, [step]: without(json[step], rest) };
}

/** JSON text after a patch: `value` at a place, or without one nothing there. Text that isn't JSON is left alone. */
export function patchedJson(text: string, path: string, value: unknown): string {
  const steps = stepsOfPath(path);
  if (!steps || !/^\s*[{[]/.test(text)) return text;
  try {
    const json: unknown = JSON.parse(text);
    return JSON.stringify(value === undefined ? without(json, steps) : patched(json, steps, value));
  } catch {
    return text; // malformed by an edit before it
  }
}
