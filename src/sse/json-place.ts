/** Where a value stands in JSON text, as its writer wrote it: `JSON.parse` tells what it is, not where. */
export interface JsonPlace {
  readonly start: number;
  readonly end: number;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /[ \t\r\n]*/y;
const SCALAR = /[^\s,\]}]+/y;

/**
 * The range between the quotes of the string at `path`, in characters; `undefined` where there is none.
 * @param text valid JSON
 */
export function stringPlace(text: string, path: readonly (string | number)[]): JsonPlace | undefined {
  let at = 0;

  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ''] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  const space = (): void => {
    take(SPACE);
  };

  /** Steps over a value; with `steps` to go, into it. */
  function value(steps: readonly (string | number)[] | undefined): JsonPlace | undefined {
    space();
    const start = at;
    const first = text[at];
    if (first === '"') {
      take(STRING);
      return steps?.length === 0 ? { start: start + 1, end: at - 1 } : undefined;
    }
    if (first === '{' || first === '[') return members(first === '{', steps);
    take(SCALAR);
    return undefined;
  }

  function members(object: boolean, steps: readonly (string | number)[] | undefined): JsonPlace | undefined {
    at++;
    for (let n = 0; at < text.length; n++) {
      space();
      if (text[at] === '}' || text[at] === ']') break;
      let key: unknown = n;
      if (object) {
        key = JSON.parse(take(STRING));
        space();
        at++; // the colon
      }
      const [step, ...rest] = steps ?? [];
      const found = value(steps !== undefined && steps.length > 0 && step === key ? rest : undefined);
      if (found) return found;
      space();
      if (text[at] !== ',') break;
      at++;
    }
    at++;
    return undefined;
  }

  try {
    return value(path);
  } catch {
    return undefined;
  }
}
