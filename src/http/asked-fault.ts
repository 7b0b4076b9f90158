import type { RequestHead } from './request.js';

/** The fault that a request asks for itself: in its URL, or in a header. */
export interface AskedFault {
  readonly source: 'query' | 'header';
  /** A word, or a fault as JSON. */
  readonly text: string;
}

export const FAULT_HEADER = 'x-wirefault';

/** Before the API's own path: many clients take nothing but a base URL. */
const PREFIX = /^\/fault\/([^/]+)(?=\/)/;

/** The URL comes before the header. */
export function askedFault({ target, path, headers }: RequestHead): AskedFault | undefined {
  const at = target.indexOf('?');
  const query = at < 0 ? null : new URLSearchParams(target.slice(at + 1)).get('fault');
  const text = query === null ? prefixed(path) : withPlus(query);
  if (text !== undefined) return { source: 'query', text };
  const header = headers[FAULT_HEADER];
  return header === undefined ? undefined : { source: 'header', text: header };
}

/** `?fault=F1+` and `?fault=rst@event:3+17` say what they look like: no word has a space, but many have a plus. */
function withPlus(text: string): string {
  return text.trimStart().startsWith('{') ? text : text.replaceAll(' ', '+');
}

function prefixed(path: string): string | undefined {
  const text = path.startsWith('/fault/') ? PREFIX.exec(path)?.[1] : undefined;
  if (text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    // A % that begins no escape is a part of the word then, which won't be known.
    return text;
  }
}
