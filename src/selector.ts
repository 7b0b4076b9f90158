import { LRUCache } from 'lru-cache';
import { messageOf } from './errors.js';
import type { Catalogue } from './fault/catalogue.js';
import { DEFAULT_LANE, isEarly, laneOf } from './fault/lanes.js';
import { draw } from './fault/random.js';
import { type FoundRule, type RuleList, ruleList } from './fault/rule-list.js';
import type { Facts } from './fault/rules.js';
import { type Named, RANDOM, type Selection, select } from './fault/script.js';
import { isDue, isPlayed, type Stage } from './fault/stage.js';
import { askedFault } from './http/asked-fault.js';
import type { RequestHead } from './http/request.js';
import type { ResolvedOptions } from './options.js';
import { faultText, namedOf } from './resolve-script.js';
import { isObject, type JsonObject, type Protocol } from './sse/dialect.js';

/**
 * Which request gets which fault. Chosen and counted in one step, by the request that meets it. A fault that acts before
 * there is a whole request is chosen at the stage at which it acts, as far as that can be known then.
 */
export interface Selector {
  /** The next fault, if it is one that acts at `stage` or should have before; taken then. */
  at(stage: Exclude<Stage, 'request'>, asked: Asked): Chosen | undefined;
  /** What a whole request gets; or what is wrong with the fault that it asks for, which uses nothing up. */
  request(asked: Asked): Selection | Unknown;
  readonly rules: RuleList;
  /** Lanes that were forgotten, since there were too many. */
  readonly droppedLanes: number;
  /** Starts all scripts anew, as a new generation. Rules stay. */
  reset(): number;
  /** How often the scripts were started, from 1. */
  readonly generation: number;
}

/** A request asks for something that isn't a fault. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly message: string;
}

export type Chosen = Selection & { readonly kind: 'behavior' };

/** What of a request is known. */
export interface Asked {
  readonly connection: number;
  readonly head?: RequestHead;
  readonly protocol?: Protocol;
  /** The body as it came, and as JSON. */
  readonly body?: Buffer;
  readonly json?: JsonObject;
}

/** How far a lane has come. */
interface Cursor {
  /** Requests of the lane. */
  readonly attempts: number;
  /** Words of its script that were used up: those that rules took don't count. */
  readonly position: number;
}

type Pick =
  | { readonly kind: 'asked'; readonly source: 'query' | 'header'; readonly named: Named | undefined }
  | FoundRule
  | { readonly kind: 'script' }
  | { readonly kind: 'unsure' }
  | Unknown;

/** Meanings kept of what requests ask for. */
const MAX_MEANINGS = 512;

export function selectorOf(options: ResolvedOptions): Selector {
  const { script, lanes, laneBy, laneIgnore, maxLanes } = options;
  const rules = ruleList(script.seed);
  for (const { spec, named, later } of options.rules) rules.add(spec, named, later);
  const meanings = meaningsOf(options.catalogue);
  let droppedLanes = 0;
  let generation = 1;
  const cursors = new LRUCache<string, Cursor>({
    max: maxLanes,
    dispose: (_, __, reason) => {
      if (reason === 'evict') droppedLanes++;
    },
  });

  /** Looking keeps no lane: one that nothing is taken from must not push out another. */
  function cursorOf(lane: string): Cursor {
    return cursors.peek(lane) ?? { attempts: 0, position: 0 };
  }

  /** The lane of what is known of a request; `undefined` where more has to be known. */
  function laneFor({ connection, head, body }: Asked): string | undefined {
    const known = isEarly(laneBy) || (head && (laneBy.kind !== 'body' || body));
    if (!known) return undefined;
    if (laneBy.kind === 'none') return DEFAULT_LANE;
    const { path = '', target = '', headers = {} } = head ?? {};
    return laneOf(laneBy, { connection, path, target, headers, text: body?.toString('utf8') ?? '' }, laneIgnore);
  }

  /** Bodies are only looked at where there are rules. */
  function factsOf({ head, protocol = 'openai-chat', body, json }: Asked, lane: string): Facts | undefined {
    if (!head) return undefined;
    const model = isObject(json) && typeof json.model === 'string' ? json.model : '';
    const { path, headers } = head;
    return { protocol, path, headers, model, lane, text: body?.toString('utf8') ?? '', json };
  }

  function pick(asked: Asked, lane: string, attempt: number): Pick {
    const own = asked.head && askedFault(asked.head);
    if (own) {
      const meaning = meanings.fetch(own.text);
      return meaning.kind === 'unknown' ? meaning : { kind: 'asked', source: own.source, named: meaning.named };
    }
    if (rules.rules.length === 0) return { kind: 'script' };
    const found = rules.find({ facts: factsOf(asked, lane), whole: asked.body !== undefined, lane, attempt });
    return found.kind === 'none' ? { kind: 'script' } : found;
  }

  function selectionBy(picked: Exclude<Pick, { kind: 'unsure' | 'unknown' }>, lane: string, cursor: Cursor): Selection {
    const attempt = cursor.attempts + 1;
    if (picked.kind === 'script') return select(lanes.get(lane) ?? script, lane, attempt, cursor.position + 1);
    const scripted = picked.named;
    const named = scripted ?? draw(script.seed, lane, attempt, script.shares);
    if (!named) return { kind: 'exhausted', lane, attempt };
    const told = { lane, attempt, scripted: scripted?.name ?? RANDOM, behavior: named.name, fault: named.fault };
    const by =
      picked.kind === 'rule'
        ? {
            source: picked.kind,
            rule: picked.rule.spec.label ?? String(picked.rule.id),
            ...(picked.key ? { key: picked.key } : {}),
          }
        : { source: picked.source };
    return { kind: 'behavior', ...told, windows: [], ...by };
  }

  function at(stage: Exclude<Stage, 'request'>, asked: Asked): Chosen | undefined {
    const known = laneFor(asked);
    const lane = known ?? DEFAULT_LANE;
    const cursor = cursorOf(lane);
    const picked = pick(asked, lane, cursor.attempts + 1);
    if (picked.kind === 'unsure' || picked.kind === 'unknown') return undefined;
    // A rule for everybody, and what a request asks for, don't need a lane; a script does.
    if (picked.kind === 'script' && known === undefined) return undefined;
    const selection = selectionBy(picked, lane, cursor);
    if (selection.kind !== 'behavior' || !isDue(selection.fault, stage)) return undefined;
    take(lane, cursor, picked);
    return selection;
  }

  function take(lane: string, { attempts, position }: Cursor, picked: Pick): void {
    if (picked.kind === 'rule') rules.take(picked);
    cursors.set(lane, { attempts: attempts + 1, position: picked.kind === 'script' ? position + 1 : position });
  }

  function request(asked: Asked): Selection | Unknown {
    const lane = laneFor(asked) ?? DEFAULT_LANE;
    const cursor = cursorOf(lane);
    const picked = pick(asked, lane, cursor.attempts + 1);
    if (picked.kind === 'unknown') return picked;
    if (picked.kind === 'unsure') throw new Error('a whole request leaves no rule unsure');
    const selection = selectionBy(picked, lane, cursor);
    take(lane, cursor, picked);
    return selection;
  }

  return {
    at,
    request,
    rules,
    get droppedLanes() {
      return droppedLanes;
    },
    reset: () => {
      cursors.clear();
      return ++generation;
    },
    get generation() {
      return generation;
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
