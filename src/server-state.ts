import { WirefaultError } from './errors.js';
import type { ServerEvent } from './events.js';
import type { Rule, RuleList } from './fault/rule-list.js';
import type { RuleSpec } from './fault/rules.js';
import type { Later } from './later.js';
import type { GivenOptions, ResolvedOptions } from './options.js';
import type { Journal } from './proof/journal.js';
import type { Naming } from './refused.js';
import { resolveOptions } from './resolve-options.js';
import { namedRule } from './resolve-script.js';
import { type Chooser, localChooser, type Selector, selectorOf } from './selector.js';
import type { MetRule, SharedState } from './state/ask.js';
import { type SharedChooser, sharedChooser } from './state/shared-chooser.js';

/** Where a server has its lanes, rules and generation: in itself, or in a state that it shares with others. */
export interface ServerState {
  readonly chooser: Chooser;
  readonly rules: ServerRules;
  /** Where it is in this very process, which answers at once. */
  readonly own: Selector | undefined;
  /** Connections are counted from the next number on. */
  readonly firstConnection: number;
  /** Ledgers that go somewhere besides the journal's file. */
  readonly journal: Journal | undefined;
  /** Why it can't be asked now. */
  readonly away: string | undefined;
  /** Resolves when every choice that is under way was made. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** The rules and the generation, as they are driven from outside. Promises where the state is shared. */
export interface ServerRules {
  list(): Later<readonly Rule[]>;
  /** The newest that were used up. */
  spent(): Later<readonly Rule[]>;
  /** @throws WirefaultError `bad_script` */
  inject(rule: RuleSpec): Later<Rule>;
  remove(id: number): Later<boolean>;
  /** Returns how many there were. */
  clear(): Later<number>;
  reset(): Later<number>;
  /** Rules in force and lanes that were forgotten, as far as it is known here. */
  counts(): { readonly rules: number; readonly droppedLanes: number };
}

/** A shared state, and what a server is in it. */
export interface Membership {
  readonly state: SharedState;
  /** Among those that share it, from 1: its connections have numbers of their own. */
  readonly member: number;
  readonly journal: Journal | undefined;
}

/** Connections of one member: more than it can ever have, and so few that numbers can be read. */
const NUMBERS_PER_MEMBER = 1_000_000_000;

function ownState(options: ResolvedOptions): ServerState {
  const selector = selectorOf(options);
  return {
    chooser: localChooser(selector),
    rules: ownRules(selector, options),
    own: selector,
    firstConnection: 0,
    journal: undefined,
    away: undefined,
    settled: async () => {},
    close: async () => {},
  };
}

function ownRules(selector: Selector, options: ResolvedOptions): ServerRules {
  const { rules } = selector;
  return {
    list: () => rules.rules,
    spent: () => rules.spent,
    inject: (rule) => injectInto(rules, rule, options),
    remove: rules.remove,
    clear: () => {
      const count = rules.rules.length;
      rules.clear();
      return count;
    },
    reset: selector.reset,
    counts: () => ({ rules: rules.rules.length, droppedLanes: selector.droppedLanes }),
  };
}

/** @throws WirefaultError `bad_script` */
export function injectInto(rules: RuleList, rule: RuleSpec, { catalogue }: ResolvedOptions): Rule {
  const { spec, named, later } = namedRule(rule, 'rule', catalogue);
  return rules.add(spec, named, later);
}

/** Rejects where the state can't be asked yet. */
async function sharedState(options: ResolvedOptions, membership: Membership): Promise<ServerState> {
  const { state, member, journal } = membership;
  const firstNumber = member * NUMBERS_PER_MEMBER;
  const fallback = options.stateFallback === 'local';
  const chooser = sharedChooser(options, { state, fallback, firstExchange: firstNumber });
  await chooser.refresh();
  return {
    chooser,
    rules: sharedRules(state, chooser, options),
    own: undefined,
    firstConnection: firstNumber,
    journal,
    get away() {
      return state.away;
    },
    settled: chooser.settled,
    close: state.close,
  };
}

/** `known`: what has to learn of a change, and counts without asking. */
export function sharedRules(
  state: SharedState,
  known: Pick<SharedChooser, 'refresh' | 'counts'>,
  { catalogue }: ResolvedOptions,
): ServerRules {
  const named = (rule: MetRule): Rule => {
    const { named: fault, later } = namedRule(rule.spec, 'rule', catalogue);
    return { ...rule, named: fault, later };
  };
  /** What is changed here is known here at once. */
  const changed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    await known.refresh();
    return result;
  };
  return {
    list: async () => (await state.book()).rules.map(named),
    spent: async () => (await state.book()).spent.map(named),
    inject: async (rule) => named(await changed(state.inject(namedRule(rule, 'rule', catalogue).spec))),
    remove: (id) => changed(state.remove(id)),
    clear: () => changed(state.clear()),
    reset: state.reset,
    counts: known.counts,
  };
}

/** Options, and the state that they ask for. A state that exists already has a seed, which is the server's then. */
export async function openState(
  given: GivenOptions,
  naming: Naming,
  { emit, membership }: { emit(event: ServerEvent): void; membership: Membership | undefined },
): Promise<{ readonly options: ResolvedOptions; readonly state: ServerState }> {
  const options = resolveOptions(given, naming);
  if (options.state !== undefined && options.replay !== undefined) {
    const message = `${naming('state')}: ${naming('replay')} goes through its recordings in order, which one server can; use one of them`;
    throw new WirefaultError('bad_option', message);
  }
  if (membership) return { options, state: await sharedState(options, membership) };
  const redis = await openRedis(given, options, emit);
  if (!redis) return { options, state: ownState(options) };
  const seeded = resolveOptions({ ...given, randomSeed: redis.seed }, naming);
  return { options: seeded, state: await sharedState(seeded, redis) };
}

/** The state in Redis, where the options ask for one; nothing of it is loaded where they don't. */
export async function openRedis(
  given: GivenOptions,
  options: ResolvedOptions,
  emit: (event: ServerEvent) => void,
): Promise<(Membership & { readonly seed: number }) | undefined> {
  const { state: url, stateName: name, journalStream } = options;
  if (url === undefined) return undefined;
  const { openRedisState } = await import('./state/redis-state.js');
  const redis = await openRedisState({ url, name, options, seedGiven: given.randomSeed !== undefined, emit });
  const { streamJournal } = await import('./state/stream-journal.js');
  const journal =
    journalStream === undefined
      ? undefined
      : streamJournal({
          client: redis.client,
          key: `${redis.prefix}journal`,
          instance: redis.instance,
          maxEntries: journalStream,
          onLost: (reason, lostLines) => emit({ type: 'journal_failed', reason, lostLines }),
        });
  return { state: redis, member: redis.instance, journal, seed: redis.seed };
}

/** What only a state in this process can do at once. */
export function notShared(own: Selector | undefined, call: string): Selector {
  if (own) return own;
  const message = `${call}: the state is shared with other servers, which have to be asked; use \`await server.shared.${call}\``;
  throw new WirefaultError('state_failed', message);
}
