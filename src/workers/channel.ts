import { messageOf, WirefaultError, type WirefaultErrorCode } from '../errors.js';
import type { ServerEvent } from '../events.js';
import type { RuleSpec } from '../fault/rules.js';
import type { FaultServerOptions } from '../fault-server.js';
import { type Ask, type MetRule, StateAway, type Took, type WholeBook } from '../state/ask.js';

/**
 * What the primary process and its workers say to each other. Messages of one turn go together: it is the number of
 * sends that costs.
 */
export interface Calls {
  /** To the primary. */
  readonly take: (ask: Ask) => Took;
  readonly book: () => WholeBook;
  readonly inject: (rule: RuleSpec) => MetRule;
  readonly remove: (id: number) => boolean;
  readonly clear: () => number;
  readonly reset: () => number;
  readonly start: () => WorkerStart;
  readonly waiting: () => ReadonlyMap<string, number>;
  readonly release: (of: { readonly gate: string; readonly count: number | undefined }) => void;
  readonly ledgers: () => readonly string[];
  readonly metrics: () => string;
  readonly bytes: (of: ExchangeBytes) => Uint8Array | undefined;
  /** To a worker. */
  readonly keptBytes: (of: ExchangeBytes) => Uint8Array | undefined;
  readonly connections: () => number;
  readonly close: () => void;
}

export interface ExchangeBytes {
  readonly exchange: number;
  readonly of: 'request' | 'response';
}

/** What a worker is started with beside what stands on its command line. */
export interface WorkerStart {
  readonly options: FaultServerOptions;
  readonly controlElsewhere: boolean;
  /** Whether anybody wants ledgers. */
  readonly ledgers: boolean;
  readonly away: string | undefined;
}

/** What is said without an answer. */
export interface Tells {
  /** To the primary. */
  readonly event: ServerEvent;
  readonly ledger: string;
  readonly gate: { readonly id: number; readonly name: string };
  readonly ungate: number;
  readonly failed: { readonly code: WirefaultErrorCode; readonly message: string };
  readonly follow: boolean;
  /** To a worker. */
  readonly opened: number;
  readonly changed: null;
  readonly away: string | undefined;
  readonly line: string;
}

type Message =
  | { readonly t: 'tell'; readonly kind: keyof Tells; readonly value: unknown }
  | { readonly t: 'call'; readonly kind: keyof Calls; readonly id: number; readonly value: unknown }
  | { readonly t: 'reply'; readonly id: number; readonly value: unknown }
  | {
      readonly t: 'failed';
      readonly id: number;
      readonly code: WirefaultErrorCode | undefined;
      readonly message: string;
    };

type Answering = { readonly [K in keyof Calls]?: (value: Parameters<Calls[K]>[0]) => MaybeLater<ReturnType<Calls[K]>> };
type Hearing = { readonly [K in keyof Tells]?: (value: Tells[K]) => void };
type MaybeLater<T> = T | Promise<T>;

export interface Channel {
  tell<K extends keyof Tells>(kind: K, value: Tells[K]): void;
  /** Rejects with what was thrown on the other side, or when that is gone. */
  call<K extends keyof Calls>(kind: K, ...value: Parameters<Calls[K]>): Promise<ReturnType<Calls[K]>>;
  /** What came from the other side. */
  onMessages(messages: unknown): void;
  /** The other side is gone. */
  gone(): void;
}

/** What nobody waits for: each send costs some ten times what another message in it does (measured). */
const PATIENT: ReadonlySet<keyof Tells> = new Set(['event', 'ledger', 'line']);
const PATIENCE_MS = 5;

/** `send` gives many messages to the other side. */
export function channel(send: (messages: unknown) => void, answering: Answering, hearing: Hearing): Channel {
  let waiting: Message[] = [];
  let soon = false;
  let later: NodeJS.Timeout | undefined;
  const calls = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  let ids = 0;
  /** Takes that wait for their answer. */
  const takes = new Set<number>();

  /** What is `patient` goes with the next message, or in a while. */
  function say(message: Message, patient = false): void {
    waiting.push(message);
    if (soon) return;
    if (patient) {
      later ??= setTimeout(flush, PATIENCE_MS);
      return;
    }
    soon = true;
    // Behind all that this turn of the event loop has to say.
    setImmediate(flush);
  }

  function flush(): void {
    clearTimeout(later);
    later = undefined;
    soon = false;
    const messages = waiting;
    waiting = [];
    if (messages.length > 0) send(messages);
  }

  function answer({ kind, id, value }: Message & { t: 'call' }): void {
    const failed = (thrown: unknown): void => {
      const code = thrown instanceof WirefaultError ? thrown.code : undefined;
      say({ t: 'failed', id, code, message: messageOf(thrown) });
    };
    try {
      const result = (answering[kind] as ((value: unknown) => unknown) | undefined)?.(value);
      if (result instanceof Promise) result.then((later) => say({ t: 'reply', id, value: later }), failed);
      else say({ t: 'reply', id, value: result });
    } catch (thrown) {
      failed(thrown);
    }
  }

  function hear(message: Message): void {
    switch (message.t) {
      case 'tell':
        (hearing[message.kind] as ((value: unknown) => void) | undefined)?.(message.value);
        break;
      case 'call':
        answer(message);
        break;
      case 'reply':
        calls.get(message.id)?.resolve(message.value);
        calls.delete(message.id);
        takes.delete(message.id);
        break;
      case 'failed': {
        const { code, message: text } = message;
        calls.get(message.id)?.reject(code === undefined ? new StateAway(text) : new WirefaultError(code, text));
        calls.delete(message.id);
        takes.delete(message.id);
        break;
      }
      default:
        message satisfies never;
    }
  }

  return {
    tell: (kind, value) => say({ t: 'tell', kind, value }, PATIENT.has(kind)),
    call: (kind, ...[value]) =>
      new Promise((resolve, reject) => {
        calls.set(++ids, { resolve: resolve as (value: unknown) => void, reject });
        // While some are asked others gather, and go together when the answer is there: the more there are, the more at once.
        say({ t: 'call', kind, id: ids, value }, kind === 'take' && takes.size > 0);
        if (kind === 'take') takes.add(ids);
      }),
    onMessages: (messages) => {
      const asked = takes.size;
      for (const message of messages as readonly Message[]) hear(message);
      if (takes.size < asked && waiting.length > 0 && !soon) flush();
    },
    gone: () => {
      for (const { reject } of calls.values()) reject(new StateAway('the other process is gone'));
      calls.clear();
    },
  };
}
