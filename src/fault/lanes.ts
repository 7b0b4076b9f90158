import { createHash } from 'node:crypto';
import { SECRET_HEADERS, SECRET_PARAMETER } from '../http/secret-headers.js';
import { patchedJson, stepsOfPath } from './json-path.js';

/**
 * What separates lanes, each of which walks the script by itself: concurrent callers in different lanes never disturb
 * each other.
 */
const KINDS = ['none', 'key', 'path', 'connection', 'body'] as const;
const NAMED = ['header', 'query'] as const;

export type LaneBy =
  | { readonly kind: (typeof KINDS)[number] }
  | { readonly kind: (typeof NAMED)[number]; readonly name: string };

/** As it is written, for messages. */
export const LANE_BY_FORMS: readonly string[] = [
  'none',
  'header:NAME',
  'query:NAME',
  'key',
  'path',
  'connection',
  'body',
];

export const DEFAULT_LANE = 'default';

export function laneByOf(text: string): LaneBy | undefined {
  const kind = KINDS.find((known) => known === text);
  if (kind) return { kind };
  const [, named, name] = /^(header|query):([^\s:]+)$/.exec(text) ?? [];
  const found = NAMED.find((known) => known === named);
  return found && name !== undefined ? { kind: found, name } : undefined;
}

/** What of a request its lane depends on. */
export interface LaneFacts {
  readonly connection: number;
  readonly path: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Whether the lane is known before there is a request. */
export function isEarly({ kind }: LaneBy): boolean {
  return kind === 'none' || kind === 'connection';
}

/** Enough of a hash to tell requests apart: 64 bits. */
const HASH_DIGITS = 16;

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
}

/** What is wrong with a place that is to be ignored, or `undefined`: one that is none would change nothing. */
export function problemWithIgnored(path: string): string | undefined {
  return stepsOfPath(path)
    ? undefined
    : `${JSON.stringify(path)} is no path into JSON, such as metadata.id or messages[-1].id`;
}

/** The lane of a request. `ignored`: places in the JSON of the body that change on a retry. */
export function laneOf(by: LaneBy, facts: LaneFacts, ignored: readonly string[]): string {
  switch (by.kind) {
    case 'none':
      return DEFAULT_LANE;
    case 'connection':
      return `connection-${facts.connection}`;
    case 'path':
      return facts.path;
    case 'key': {
      const key = facts.headers['x-api-key'] ?? facts.headers.authorization;
      // Lanes are written down, keys must not be.
      return key === undefined ? DEFAULT_LANE : `key-${hashed(key)}`;
    }
    case 'body':
      return `body-${hashed(ignored.reduce((text, path) => patchedJson(text, path, undefined), facts.text))}`;
    case 'header': {
      const name = by.name.toLowerCase();
      const value = facts.headers[name];
      if (value === undefined) return DEFAULT_LANE;
      return SECRET_HEADERS.has(name) ? `${name}-${hashed(value)}` : value;
    }
    case 'query': {
      const value = new URLSearchParams(facts.target.split('?')[1] ?? '').get(by.name);
      if (value === null) return DEFAULT_LANE;
      return SECRET_PARAMETER.test(by.name) ? `${by.name}-${hashed(value)}` : value;
    }
    default:
      return by satisfies never;
  }
}
