import { LRUCache } from 'lru-cache';
import { messageOf } from './errors.js';
import type { Catalogue } from './fault/catalogue.js';
import { DEFAULT_LANE, isEarly, laneOf } from './fault/lanes.js';
import type { Facts } from './fault/rules.js';
import type { Named } from './fault/script.js';
import { isPlayed } from './fault/stage.js';
import { askedFault } from './http/asked-fault.js';
import type { RequestHead } from './http/request.js';
import type { ResolvedOptions } from './options.js';
import { faultText, namedOf } from './resolve-script.js';
import { isObject, type JsonObject, type Protocol } from './sse/dialect.js';

/** What is known of a request while its fault is chosen, and what of that the choice depends on. */
export interface Asked {
  readonly connection: number;
  readonly head?: RequestHead;
  readonly protocol?: Protocol;
  /** The body as it came, and as JSON. */
  readonly body?: Buffer;
  readonly json?: JsonObject;
}

/** A request asks for something that isn't a fault. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly message: string;
}

/** The fault that a request asks for itself; without `named`: `random`. */
export interface OwnFault {
  readonly kind: 'asked';
  readonly source: 'query' | 'header';
  readonly named: Named | undefined;
}

export interface AskedReader {
  /** The lane of what is known of a request; `undefined` where more has to be known. */
  laneFor(asked: Asked): string | undefined;
  /** What rules look at; bodies are only looked at where there are rules. */
  factsOf(asked: Asked, lane: string): Facts | undefined;
  /** What the request asks for itself, or what is wrong with that. */
  ownFault(asked: Asked): OwnFault | Unknown | undefined;
}

/** Meanings kept of what requests ask for. */
const MAX_MEANINGS = 512;

export function askedReader({ laneBy, laneIgnore, catalogue }: ResolvedOptions): AskedReader {
  const meanings = meaningsOf(catalogue);
  return {
    laneFor: ({ connection, head, body }) => {
      if (laneBy.kind === 'none') return DEFAULT_LANE;
      const known = isEarly(laneBy) || (head && (laneBy.kind !== 'body' || body));
      if (!known) return undefined;
      const { path = '', target = '', headers = {} } = head ?? {};
      return laneOf(laneBy, { connection, path, target, headers, text: body?.toString('utf8') ?? '' }, laneIgnore);
    },
    factsOf: ({ head, protocol = 'openai-chat', body, json }, lane) => {
      if (!head) return undefined;
      const model = isObject(json) && typeof json.model === 'string' ? json.model : '';
      const { path, headers } = head;
      return { protocol, path, headers, model, lane, text: body?.toString('utf8') ?? '', json };
    },
    ownFault: ({ head }) => {
      const own = head && askedFault(head);
      if (!own) return undefined;
      const meaning = meanings.fetch(own.text);
      return meaning.kind === 'unknown' ? meaning : { kind: 'asked', source: own.source, named: meaning.named };
    },
  };
}

type Asking = { readonly kind: 'known'; readonly named: Named | undefined } | Unknown;

/** What the words in requests mean; each is looked up once. */
function meaningsOf(catalogue: Catalogue): { fetch(text: string): Asking } {
  const known = new LRUCache<string, Asking>({ max: MAX_MEANINGS });
  return {
    fetch: (text) => {
      const meaning = known.get(text) ?? meaningOfText(text, catalogue);
      known.set(text, meaning);
      return meaning;
    },
  };
}

function meaningOfText(text: string, catalogue: Catalogue): Asking {
  try {
    const named = namedOf(faultText(text), 'fault', catalogue);
    if (named && !isPlayed(named.fault)) {
      return { kind: 'unknown', message: `fault: ${named.name} is a fault of the port, which no request can ask for` };
    }
    return { kind: 'known', named };
  } catch (thrown) {
    return { kind: 'unknown', message: messageOf(thrown) };
  }
}
