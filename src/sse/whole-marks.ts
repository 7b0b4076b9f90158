import { type ContentKind, isObject, type Protocol } from './dialect.js';
import { partsAround } from './encoder.js';
import { stringPlace } from './json-place.js';
import type { Mark } from './mark.js';

/**
 * Marks of somebody else's JSON body, read as `encodeWhole` reads our own: what stands before the content starts it,
 * the content is the deltas, what stands after it finishes, and the last brace is the terminal.
 */
type Path = readonly (string | number)[];
type Found = readonly [ContentKind, Path];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const at = (value: unknown, key: string): unknown => (isObject(value) ? value[key] : undefined);

function texts(value: unknown, path: Path, fields: Readonly<Record<string, ContentKind>>): Found[] {
  return Object.entries(fields).flatMap(([field, kind]): Found[] => {
    const text = at(value, field);
    return typeof text === 'string' && text !== '' ? [[kind, [...path, field]]] : [];
  });
}

function chat(json: unknown): Found[] {
  return list(at(json, 'choices')).flatMap((choice, n): Found[] => {
    const message = at(choice, 'message');
    const path = ['choices', n, 'message'];
    const fields = {
      content: 'text',
      reasoning_content: 'reasoning',
      reasoning: 'reasoning',
      refusal: 'refusal',
    } as const;
    return [
      ...texts(message, path, fields),
      ...list(at(message, 'tool_calls')).flatMap((call, m) =>
        texts(at(call, 'function'), [...path, 'tool_calls', m, 'function'], { arguments: 'tool_args' }),
      ),
    ];
  });
}

function responses(json: unknown): Found[] {
  return list(at(json, 'output')).flatMap((item, n): Found[] => {
    const path = ['output', n];
    return [
      ...list(at(item, 'summary')).flatMap((part, m) => texts(part, [...path, 'summary', m], { text: 'reasoning' })),
      ...list(at(item, 'content')).flatMap((part, m) =>
        texts(part, [...path, 'content', m], { text: 'text', refusal: 'refusal' }),
      ),
      ...texts(item, path, { arguments: 'tool_args' }),
    ];
  });
}

function anthropic(json: unknown): Found[] {
  return list(at(json, 'content')).flatMap((block, n) =>
    texts(block, ['content', n], { text: 'text', thinking: 'reasoning' }),
  );
}

const CONTENT: Readonly<Record<Protocol, (json: unknown) => Found[]>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': anthropic,
};

/** Empty for a body that is no JSON object. */
export function wholeMarks(body: Buffer, protocol: Protocol): Mark[] {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return [];
  }
  if (!isObject(json)) return [];
  // A byte a character, so that places in the text are places in the body.
  const text = body.toString('latin1');
  const contents = CONTENT[protocol](json)
    .flatMap(([kind, path]): Mark[] => {
      const place = stringPlace(text, path);
      return place ? [{ kind, index: 1, ...place }] : [];
    })
    .toSorted((a, b) => a.start - b.start);
  return [...partsAround(contents, text.lastIndexOf('}'), body.length), ...contents];
}
