import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { messageOf, WirefaultError } from '../errors.js';
import type { ServerEvent } from '../events.js';
import { USED_UP } from '../fault/rule-list.js';
import { isUnconditional, type RuleSpec } from '../fault/rules.js';
import type { ResolvedOptions } from '../options.js';
import { withoutPassword } from '../refused.js';
import { type MetRule, type SharedState, StateAway, type Took, type WholeBook } from './ask.js';
import { REDIS_KEYS, REDIS_SCRIPTS } from './redis-script.js';

/** The state that several machines share, in Redis or Valkey. Nothing of it is loaded without `--state`. */
export interface RedisState extends SharedState {
  readonly client: Redis;
  /** Of this server in the group, from 1. */
  readonly instance: number;
  /** That all of the group draw with. */
  readonly seed: number;
  /** What keys of the group begin with. */
  readonly prefix: string;
}

export interface RedisStateOptions {
  /** `redis://` or `rediss://`, with a password and the number of a database perhaps. */
  readonly url: string;
  /** Servers with the same name act as one. */
  readonly name: string;
  readonly options: ResolvedOptions;
  /** The seed was given, and not drawn. */
  readonly seedGiven: boolean;
  emit(event: ServerEvent): void;
}

type Command = keyof typeof REDIS_SCRIPTS;
type Commands = { readonly [C in Command]: (...args: string[]) => Promise<string> };

/** Longer than any step takes; a Redis that doesn't answer in that time counts as away. */
const TIMEOUT_MS = 1000;
/** A Redis that is away is looked for this often. */
const RETRY_MS = 200;

interface Begun {
  readonly made: boolean;
  readonly config: string;
  readonly seed: number;
  readonly generation: number;
  readonly instance: number;
}

/** @throws WirefaultError `state_failed` where Redis can't be reached, or has the name for servers with another script */
export async function openRedisState({ url, name, options, seedGiven, emit }: RedisStateOptions): Promise<RedisState> {
  const { Redis } = await import('ioredis');
  const shown = withoutPassword(url);
  const client = new Redis(url, {
    lazyConnect: true,
    // What can't be done now is refused now: the client of the request waits.
    enableOfflineQueue: false,
    // A command that was under way may have been done; doing it twice would take two faults.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    retryStrategy: () => RETRY_MS,
  });
  const prefix = `{wirefault:${name}}:`;
  const keys = REDIS_KEYS.map((key) => `${prefix}${key}`);
  for (const [command, lua] of Object.entries(REDIS_SCRIPTS)) {
    client.defineCommand(command, { numberOfKeys: keys.length, lua });
  }
  const commands = client as unknown as Commands;
  const config = configOf(options);
  let lastError = '';
  let away: string | undefined;
  let closed = false;
  /** Takes that Redis hasn't answered. */
  let underWay = 0;
  /** What was last heard of; a Redis that has lost it goes on from there. */
  let begun: Begun | undefined;
  let exchanges = 0;

  client.on('error', (error: Error) => {
    lastError = error.message;
  });
  client.on('close', () => lost(`${shown} is away${lastError ? `: ${lastError}` : ''}`));
  client.on('ready', back);

  function lost(reason: string): void {
    if (closed || away !== undefined || !begun) return;
    away = reason;
    emit({ type: 'state_lost', reason, underWay });
  }

  function back(): void {
    lastError = '';
    if (away === undefined || closed) return;
    away = undefined;
    emit({ type: 'state_back' });
  }

  /** One step in Redis. One that comes too late is told: its request has been answered without it. */
  async function run(command: Command, ...args: string[]): Promise<string> {
    if (away !== undefined) throw new StateAway(away);
    const reply = commands[command](...keys, ...args);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, TIMEOUT_MS, undefined);
    });
    try {
      const text = await Promise.race([reply, late]);
      if (text !== undefined) return text;
    } catch (thrown) {
      throw new StateAway(away ?? `${shown}: ${messageOf(thrown)}`);
    } finally {
      clearTimeout(timer);
    }
    const reason = `${shown} did not answer within ${TIMEOUT_MS} ms`;
    lost(reason);
    void reply.then(tooLate, () => {});
    client.ping().then(back, () => {});
    throw new StateAway(reason);
  }

  function tooLate(text: string): void {
    const took: Took = JSON.parse(text);
    if (took.kind !== 'taken') return;
    emit({ type: 'state_late', attempt: took.attempts + 1, exchange: took.exchange });
  }

  async function begin(): Promise<Begun> {
    const rules = options.rules.map(({ spec }) => sent(spec));
    const floor = begun ? { instance: begun.instance, generation: begun.generation + 1 } : { generation: 1 };
    const instances = begun?.instance ?? 0;
    const { seed } = options.script;
    const given = { ...floor, instances, exchanges, rules, config, seed: begun?.seed ?? seed };
    // Never the version of a list that was there before.
    const version = Date.now();
    return JSON.parse(await run('wirefaultBegin', JSON.stringify({ ...given, version, maxLanes: options.maxLanes })));
  }

  let beginning: Promise<void> | undefined;
  /** Redis has come back with nothing: the scripts begin anew, which is told. */
  async function beginAgain(): Promise<void> {
    const again = await begin();
    if (again.config !== config) throw new StateAway(otherConfig(shown, name));
    begun = again;
    if (again.made) emit({ type: 'state_fresh', generation: again.generation });
  }

  async function ask<T>(command: Command, ...args: string[]): Promise<T> {
    for (let tries = 0; ; tries++) {
      const answer: { readonly kind: string } = JSON.parse(await run(command, ...args));
      if (answer.kind !== 'fresh') return answer as T;
      if (tries > 0) throw new StateAway(`${shown} forgets what it is told`);
      beginning ??= beginAgain().finally(() => {
        beginning = undefined;
      });
      await beginning;
    }
  }

  const failed = (message: string, cause?: unknown): WirefaultError => {
    closed = true;
    client.disconnect();
    return new WirefaultError('state_failed', `state: ${message}`, cause === undefined ? {} : { cause });
  };
  try {
    await client.connect();
    begun = await begin();
  } catch (thrown) {
    throw failed(`${shown} can't be used: ${lastError || messageOf(thrown)}`, thrown);
  }
  if (begun.config !== config) throw failed(otherConfig(shown, name));
  if (seedGiven && begun.seed !== options.script.seed) {
    throw failed(`the servers named ${name} at ${shown} draw with seed ${begun.seed}; this one was given another`);
  }

  const subscriber = client.duplicate({ enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: null });
  subscriber.on('error', () => {});
  subscriber.subscribe(`${prefix}changes`).catch(() => {});

  return {
    client,
    prefix,
    instance: begun.instance,
    seed: begun.seed,
    take: async (asked) => {
      underWay++;
      const took = await ask<Took>('wirefaultTake', JSON.stringify(asked), USED_UP).finally(() => {
        underWay--;
      });
      if (took.kind === 'taken') {
        exchanges = Math.max(exchanges, took.exchange);
        if (begun && took.generation > begun.generation) begun = { ...begun, generation: took.generation };
      }
      return took;
    },
    book: () => ask<WholeBook>('wirefaultBook'),
    inject: async (spec) => {
      const { rule } = await ask<{ readonly rule: MetRule }>('wirefaultInject', JSON.stringify(sent(spec)));
      return rule;
    },
    remove: async (id) => (await ask<Counted>('wirefaultRemove', String(id))).count > 0,
    clear: async () => (await ask<Counted>('wirefaultRemove', '')).count,
    reset: async () => (await ask<{ readonly generation: number }>('wirefaultReset')).generation,
    watch: (changed) => {
      subscriber.on('message', changed);
      subscriber.on('ready', changed);
    },
    get away() {
      return away;
    },
    close: async () => {
      closed = true;
      client.disconnect();
      subscriber.disconnect();
    },
  };
}

interface Counted {
  readonly count: number;
}

/** A rule as the scripts read it: its spec is kept as text. */
function sent(spec: RuleSpec) {
  const { once, times, ttlMs, probability } = spec;
  const left = once ? 1 : times;
  return {
    spec: JSON.stringify(spec),
    default: left === undefined && isUnconditional(spec) && probability === undefined,
    ...(left === undefined ? {} : { left }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  };
}

/** What servers that act as one have to have in common. */
function configOf({ script, lanes, laneBy, laneIgnore, maxLanes, rules }: ResolvedOptions): string {
  const told = ({ entries, leading, repeatLast, shares }: ResolvedOptions['script']): unknown => [
    entries.map(({ named, windows }) => [named ?? null, windows]),
    leading,
    repeatLast,
    shares,
  ];
  const all = [told(script), [...lanes].map(([lane, one]) => [lane, told(one)]), laneBy, laneIgnore, maxLanes];
  return createHash('sha256')
    .update(JSON.stringify([...all, rules.map(({ spec }) => spec)]))
    .digest('hex');
}

function otherConfig(shown: string, name: string): string {
  return (
    `the servers named ${name} at ${shown} have another script, other lanes or rules; ` +
    'give this one another name, or delete their keys'
  );
}
