import { isMap, isNode, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { messageOf } from '../errors.js';

/** The text of a scenario, YAML or JSON (which is YAML), and where its values stand. */
export interface Source {
  readonly value: unknown;
  /** What isn't YAML. */
  readonly errors: readonly Located[];
  /** The place of the value at `path`, or of the nearest that there is above it. `key`: the place of its name. */
  placeOf(path: readonly (string | number)[], key?: boolean): Place;
}

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Located extends Place {
  readonly message: string;
}

export function readSource(text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    // What it has to say is said by us, at its place.
    logLevel: 'error',
  });
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  function nodeAt(path: readonly (string | number)[]): unknown {
    return path.length === 0 ? document.contents : document.getIn(path, true);
  }

  function keyAt(path: readonly (string | number)[]): number | undefined {
    const parent = nodeAt(path.slice(0, -1));
    if (!isMap(parent)) return undefined;
    const pair = parent.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(path.at(-1)));
    return isPair(pair) && isNode(pair.key) ? pair.key.range?.[0] : undefined;
  }

  function placeOf(path: readonly (string | number)[], key = false): Place {
    const named = key ? keyAt(path) : undefined;
    if (named !== undefined) return at(named);
    const node = nodeAt(path);
    if (isNode(node) && node.range) return at(node.range[0]);
    return path.length === 0 ? { line: 1, column: 1 } : placeOf(path.slice(0, -1));
  }

  const errors = document.errors.map(({ code, message, pos }) => ({
    ...at(pos[0]),
    message: SAID[code] ?? firstLine(message),
  }));
  visit(document, {
    Alias: (_, alias) => {
      if (!alias.resolve(document))
        errors.push({ ...at(alias.range?.[0] ?? 0), message: `there is no anchor &${alias.source} before this alias` });
    },
  });
  if (errors.length > 0) return { value: undefined, errors, placeOf };
  try {
    return { value: document.toJS(), errors, placeOf };
  } catch (thrown) {
    // Aliases of aliases that would grow beyond all bounds.
    return { value: undefined, errors: [{ line: 1, column: 1, message: firstLine(messageOf(thrown)) }], placeOf };
  }
}

/** Where the parser speaks to programmers. */
const SAID: Readonly<Record<string, string>> = { MULTIPLE_DOCS: 'a second document begins; a scenario is one' };

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text;
}
