import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Asked, Unknown } from '../../src/asked.js';
import type { RuleSpec } from '../../src/fault/rules.js';
import type { Selection } from '../../src/fault/script.js';
import type { GivenOptions, ResolvedOptions } from '../../src/options.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { namedRule } from '../../src/resolve-script.js';
import { type Away, type Choice, type Chooser, localChooser, selectorOf } from '../../src/selector.js';
import type { SharedState } from '../../src/state/ask.js';
import { memoryState } from '../../src/state/memory-state.js';
import { openRedisState } from '../../src/state/redis-state.js';
import { sharedChooser } from '../../src/state/shared-chooser.js';
import { NO_REDIS, redisServer } from '../support/redis.js';
import { type Asking, asking } from '../support/selecting.js';

/**
 * One process with its own state, and several with a shared one in memory or in Redis, get the same requests and the same
 * orders; whatever they are, each request gets the same fault, and the rules tell the same.
 */

type Op =
  | { readonly kind: 'request'; readonly asked: Asking; readonly by: number }
  | { readonly kind: 'early'; readonly asked: Asking; readonly by: number }
  | { readonly kind: 'inject'; readonly rule: RuleSpec; readonly by: number }
  | { readonly kind: 'remove'; readonly id: number }
  | { readonly kind: 'clear' }
  | { readonly kind: 'reset' };

const words = fc.constantFrom('success', 'rate_limit', 'random', 'rst@accept', 'rst@request:5', 'rst@event:1', 'empty');
const lanes = fc.constantFrom('a', 'b', 'c', 'd');
const texts = fc.constantFrom('apple', 'pear', 'plum/"x"\n');

const rules: fc.Arbitrary<RuleSpec> = fc
  .record(
    {
      fault: fc.constantFrom('F2', 'rate_limit', 'rst@accept', 'rst@request:3', 'auth_error'),
      limit: fc.constantFrom({}, { once: true as const }, { times: 2 }),
      match: texts,
      avoid: texts,
      lane: lanes,
      path: fc.constantFrom('chat', '/responses$/'),
      probability: fc.constantFrom(0.3, 0.7),
      key: fc.constantFrom('header:idempotency-key', 'json:id'),
      label: fc.constant('named'),
    },
    { requiredKeys: ['fault', 'limit'] },
  )
  .map(({ limit, key, ...rest }) => ({
    ...rest,
    ...limit,
    // biome-ignore lint/suspicious/noThenProperty: it is what a rule calls it
    ...(key ? { key, then: { behavior: 'success', result: 'same' as const } } : {}),
  }));

const asked: fc.Arbitrary<Asking> = fc.record({
  target: fc.constantFrom(
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/chat/completions?fault=F2',
    '/v1/x?fault=nonsense',
  ),
  headers: fc
    .record(
      { 'x-lane': lanes, 'idempotency-key': fc.constantFrom('k1', 'k2'), 'x-wirefault': fc.constant('random') },
      { requiredKeys: ['x-lane'] },
    )
    .map((headers): Record<string, string> => Object.fromEntries(Object.entries(headers).filter(([, value]) => value))),
  body: fc.record({ text: texts, id: fc.constantFrom('one', 'two') }),
  connection: fc.integer({ min: 1, max: 3 }),
});

const by = fc.integer({ min: 0, max: 1 });
const ops: fc.Arbitrary<Op> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('request' as const), asked, by }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('early' as const), asked, by }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('inject' as const), rule: rules, by }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), id: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'clear' as const }, { kind: 'reset' as const }) },
);

const givens: fc.Arbitrary<GivenOptions> = fc.record({
  sequence: fc.array(words, { minLength: 1, maxLength: 4 }),
  repeatLast: fc.boolean(),
  laneBy: fc.constantFrom('none', 'header:x-lane', 'connection', 'body'),
  maxLanes: fc.constantFrom(2, 100),
  rules: fc.array(rules, { maxLength: 2 }),
  randomSeed: fc.integer({ min: 0, max: 99 }),
});

type Told = Selection | Unknown | Away | undefined;

/** What was chosen, with generation and dropped lanes; the time of a key is each process's own. */
function told(choice: Choice | Unknown | Away | undefined): unknown {
  if (choice?.kind !== 'chosen') return choice satisfies Told;
  const { selection, generation, droppedLanes } = choice;
  const key = selection.kind === 'behavior' && selection.key ? { ...selection.key, since: null } : undefined;
  return { selection: { ...selection, key }, generation, droppedLanes };
}

interface Group {
  readonly choosers: readonly Chooser[];
  inject(rule: RuleSpec): Promise<unknown>;
  remove(id: number): Promise<unknown>;
  clear(): Promise<unknown>;
  reset(): Promise<unknown>;
  rules(): Promise<unknown>;
}

function alone(options: ResolvedOptions): Group {
  const selector = selectorOf(options);
  const chooser = localChooser(selector);
  const shown = ({ id, spec, hits, left, misses }: (typeof selector.rules.rules)[number]) => ({
    id,
    spec,
    hits,
    left,
    misses,
  });
  return {
    choosers: [chooser, chooser],
    inject: async (rule) => {
      const { spec, named, later } = namedRule(rule, 'rule', options.catalogue);
      selector.rules.add(spec, named, later);
    },
    remove: async (id) => selector.rules.remove(id),
    clear: async () => selector.rules.clear(),
    reset: async () => selector.reset(),
    rules: async () => ({ rules: selector.rules.rules.map(shown), spent: selector.rules.spent.map(shown) }),
  };
}

async function sharing(options: ResolvedOptions, states: readonly SharedState[]): Promise<Group> {
  const choosers = states.map((state) => sharedChooser(options, { state, fallback: false, firstExchange: 0 }));
  const refresh = (): Promise<unknown> => Promise.all(choosers.map((chooser) => chooser.refresh()));
  await refresh();
  const [first] = states;
  if (!first) throw new Error('no state');
  return {
    choosers,
    inject: async (rule) => {
      await first.inject(rule);
      await refresh();
    },
    remove: (id) => first.remove(id).then(refresh),
    clear: () => first.clear().then(refresh),
    reset: () => first.reset(),
    rules: async () => {
      const { rules: inForce, spent } = await first.book();
      return { rules: inForce, spent };
    },
  };
}

async function play(group: Group, steps: readonly Op[]): Promise<unknown[]> {
  const log: unknown[] = [];
  for (const step of steps) {
    switch (step.kind) {
      case 'request':
        log.push(told(await group.choosers[step.by]?.request(asking(step.asked))));
        break;
      case 'early': {
        const { connection, head, protocol = 'openai-chat' } = asking(step.asked);
        log.push(told(await group.choosers[step.by]?.at('accept', { connection })));
        const known: Asked = { connection, protocol, ...(head ? { head } : {}) };
        log.push(told(await group.choosers[step.by]?.at('head', known)));
        break;
      }
      case 'inject':
        await group.inject(step.rule);
        break;
      case 'remove':
        await group.remove(step.id);
        break;
      case 'clear':
      case 'reset':
        await group[step.kind]();
        break;
      default:
        step satisfies never;
    }
  }
  log.push(await group.rules());
  return log;
}

const steps = fc.array(ops, { minLength: 5, maxLength: 40 });
const same = (name: string): string => name;

describe('several processes choose as one does', () => {
  it('with a state in the memory of one of them', async () => {
    await fc.assert(
      fc.asyncProperty(givens, steps, async (given, all) => {
        const options = resolveOptions(given, same);
        const { rules: first, script, maxLanes, catalogue } = options;
        const state = memoryState({
          rules: first,
          seed: script.seed,
          maxLanes,
          named: (spec) => namedRule(spec, 'rule', catalogue),
        });
        expect(await play(await sharing(options, [state, state]), all)).toEqual(await play(alone(options), all));
      }),
      { numRuns: 150 },
    );
  });

  it.skipIf(NO_REDIS)('with a state in Redis', async () => {
    const redis = await redisServer();
    let group = 0;
    await fc.assert(
      fc.asyncProperty(givens, steps, async (given, all) => {
        const options = resolveOptions(given, same);
        const name = `group-${++group}`;
        const open = () => openRedisState({ url: redis.url, name, options, seedGiven: true, emit: () => {} });
        const states = [await open(), await open()];
        try {
          expect(await play(await sharing(options, states), all)).toEqual(await play(alone(options), all));
        } finally {
          for (const state of states) await state.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});
