import { describe, expect, it } from 'vitest';
import type { Command, JournalFilter } from '../../src/control/commands.js';
import { type Handled, handle } from '../../src/control/handle.js';
import type { ControlTarget } from '../../src/control/target.js';
import { WirefaultError } from '../../src/errors.js';
import { faultOf } from '../../src/fault/catalogue.js';
import type { Rule } from '../../src/fault/rule-list.js';
import type { Ledger } from '../../src/proof/ledger.js';
import type { ServerRules } from '../../src/server-state.js';
import { ledgerWith } from '../proof/ledgers.js';

type Fakes = Partial<Omit<ControlTarget, 'rules'>> & Partial<ServerRules>;

/** A target that notes what it is told to do. */
function fake(more: Fakes = {}): ControlTarget & { readonly calls: readonly string[] } {
  const calls: string[] = [];
  const { list, spent, inject, remove, clear, reset, counts, ...rest } = {
    list: () => [],
    spent: () => [],
    inject: () => ruleOf({ fault: 'F2' }),
    remove: (id: number) => id === 1,
    clear: () => 0,
    reset: () => 2,
    counts: () => ({ rules: 0, droppedLanes: 0 }),
    ...more,
  };
  return {
    calls,
    rules: { list, spent, inject, remove, clear, reset, counts },
    health: () => ({ state: 'own' }),
    connections: () => 0,
    gates: new Map(),
    release: (gate, count) => calls.push(`release ${gate} ${count}`),
    refuse: (ms) => calls.push(`refuse ${ms}`),
    ledgers: [],
    followLedgers: () => later([]),
    bytesOf: () => undefined,
    metrics: async () => '# metrics\n',
    ...rest,
  };
}

async function* later(ledgers: readonly Ledger[]): AsyncGenerator<Ledger> {
  yield* ledgers;
}

function ruleOf(spec: Rule['spec'], more: Partial<Rule> = {}): Rule {
  const named = { name: 'F2', fault: faultOf('F2') };
  return { id: 1, spec, named, hits: 0, left: null, later: undefined, misses: [], ...more };
}

/** A state of this process answers at once. */
function atOnce(command: Command, target: ControlTarget): Handled {
  const handled = handle(command, target);
  if (handled instanceof Promise) throw new Error('not at once');
  return handled;
}

/** Status and body of a reply. */
function replied(command: Command, target: ControlTarget): { status: number; type: string; body: string } {
  const handled = atOnce(command, target);
  if (handled.kind !== 'reply') throw new Error(`no reply, but ${handled.kind}`);
  const { status, headers, body } = handled.reply;
  return { status, body, type: headers.find(([name]) => name === 'Content-Type')?.[1] ?? '' };
}

function json(command: Command, target = fake()): { status: number; body: unknown } {
  const { status, type, body } = replied(command, target);
  expect(type).toBe('application/json');
  return { status, body: JSON.parse(body) };
}

describe('rules', () => {
  it('are listed with their hits and the last misses, and those that were used up', () => {
    const misses = [{ lane: 'default', attempt: 3, path: '/v1/responses', why: 'there is no header a' }];
    const target = fake({
      list: () => [ruleOf({ fault: 'F2', times: 7, header: { a: 'b' } }, { hits: 2, left: 5, misses })],
      spent: () => [
        ruleOf({ fault: { cut: { at: 'event:3', teardown: 'rst' } }, once: true }, { id: 2, hits: 1, left: 0 }),
      ],
    });
    expect(json({ kind: 'list' }, target)).toEqual({
      status: 200,
      body: {
        rules: [{ id: 1, fault: 'F2', times: 7, header: { a: 'b' }, behavior: 'F2', hits: 2, left: 5, misses }],
        spent: [
          {
            id: 2,
            fault: { cut: { at: 'event:3', teardown: 'rst' } },
            once: true,
            behavior: 'F2',
            hits: 1,
            left: 0,
            misses: [],
          },
        ],
      },
    });
  });

  it('are added, or refused with the reason', () => {
    expect(json({ kind: 'inject', rule: { fault: 'F2' } })).toMatchObject({
      status: 201,
      body: { id: 1, fault: 'F2' },
    });
    const target = fake({
      inject: () => {
        throw new WirefaultError('bad_script', 'rule: unknown behavior "F22"');
      },
    });
    expect(json({ kind: 'inject', rule: { fault: 'F22' } }, target)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_control', message: 'rule: unknown behavior "F22"' } },
    });
  });

  it('are removed, one or all', () => {
    expect(json({ kind: 'remove', id: 1 })).toEqual({ status: 200, body: { removed: 1 } });
    expect(json({ kind: 'remove', id: 2 })).toMatchObject({ status: 404, body: { error: { code: 'no_rule' } } });
    expect(json({ kind: 'clear' }, fake({ clear: () => 2 }))).toEqual({ status: 200, body: { removed: 2 } });
  });
});

describe('the rest of what can be done', () => {
  it('reset tells the new generation', () => {
    expect(json({ kind: 'reset' })).toEqual({ status: 200, body: { generation: 2 } });
  });

  it('gates are told, and released', () => {
    const target = fake({ gates: new Map([['go', 3]]) });
    expect(json({ kind: 'gates' }, target)).toEqual({ status: 200, body: { waiting: { go: 3 } } });
    expect(json({ kind: 'release', gate: 'go', count: 2 }, target).body).toEqual({ gate: 'go', waiting: 3 });
    expect(json({ kind: 'release', gate: 'other', count: 1 }, target).body).toEqual({ gate: 'other', waiting: 0 });
    expect(target.calls).toEqual(['release go 2', 'release other 1']);
  });

  it('a refusal is told here, and made by the caller once that is out', () => {
    const target = fake();
    expect(json({ kind: 'refuse', ms: 500 }, target)).toEqual({ status: 200, body: { refusedForMs: 500 } });
    expect(target.calls).toEqual([]);
  });

  it('metrics come later', async () => {
    const handled = atOnce({ kind: 'metrics' }, fake());
    if (handled.kind !== 'later') throw new Error(handled.kind);
    const { headers, body } = await handled.reply;
    expect(headers).toEqual([['Content-Type', 'text/plain; version=0.0.4; charset=utf-8']]);
    expect(body).toBe('# metrics\n');
  });

  it('bytes as they are kept, or why there are none', () => {
    const target = fake({ bytesOf: (exchange, of) => (exchange === 3 ? Buffer.from(of) : undefined) });
    for (const of of ['request', 'response'] as const) {
      const handled = atOnce({ kind: 'bytes', exchange: 3, of }, target);
      expect(handled).toEqual({ kind: 'bytes', bytes: Buffer.from(of) });
    }
    expect(json({ kind: 'bytes', exchange: 4, of: 'request' }, target)).toMatchObject({
      status: 404,
      body: { error: { code: 'no_bytes', message: expect.stringContaining('exchange 4') } },
    });
  });
});

describe('the journal', () => {
  const selection = (behavior: string, rule: string | null = null): Ledger['selection'] => ({
    scripted: behavior,
    behavior,
    source: rule === null ? 'script' : 'rule',
    rule,
  });
  const LEDGERS = [
    ledgerWith({ exchange: 1, lane: 'a', selection: selection('F1', 'mine'), outcome: 'reset' }),
    ledgerWith({ exchange: 2, lane: 'b', selection: selection('F1') }),
    // In the order in which they were settled.
    ledgerWith({ exchange: 4, lane: 'a', selection: selection('success') }),
    ledgerWith({ exchange: 3, lane: 'a', selection: selection('success', '2') }),
  ];

  const filters: readonly (readonly [JournalFilter, readonly number[]])[] = [
    [{}, [1, 2, 4, 3]],
    [{ lane: 'a' }, [1, 4, 3]],
    [{ behavior: 'F1' }, [1, 2]],
    [{ outcome: 'completed' }, [2, 4, 3]],
    [{ rule: 'mine' }, [1]],
    [{ rule: '2' }, [3]],
    [{ since: 3 }, [4, 3]],
    [{ since: 2, lane: 'a', outcome: 'completed' }, [4, 3]],
    [{ lane: 'c' }, []],
  ];
  for (const [filter, expected] of filters) {
    it(`of ${JSON.stringify(filter)}: ${expected.join(', ') || 'nothing'}`, async () => {
      const { status, type, body } = replied({ kind: 'journal', filter, follow: false }, fake({ ledgers: LEDGERS }));
      expect([status, type]).toEqual([200, 'application/x-ndjson']);
      const lines = body === '' ? [] : body.slice(0, -1).split('\n');
      expect(lines.map((line) => JSON.parse(line).exchange)).toEqual(expected);
      // One that goes on is filtered in the same way, what comes as what was there.
      for (const split of [0, 2, 4]) {
        const target = fake({ ledgers: LEDGERS.slice(0, split), followLedgers: () => later(LEDGERS.slice(split)) });
        const handled = atOnce({ kind: 'journal', filter, follow: true }, target);
        if (handled.kind !== 'follow') throw new Error(handled.kind);
        const followed: string[] = [];
        for await (const line of handled.lines) followed.push(line);
        expect(followed.join('')).toBe(body);
      }
    });
  }

  it('follows from the moment of the request on, before a line was asked for', async () => {
    const ledgers = [ledgerWith({ exchange: 1 })];
    let following = 0;
    const target = fake({
      ledgers,
      followLedgers: () => {
        following = ledgers.length;
        return later([ledgerWith({ exchange: 2 })]);
      },
    });
    const handled = atOnce({ kind: 'journal', filter: {}, follow: true }, target);
    expect(following).toBe(1);
    ledgers.push(ledgerWith({ exchange: 2 }));
    if (handled.kind !== 'follow') throw new Error(handled.kind);
    const exchanges: unknown[] = [];
    for await (const line of handled.lines) exchanges.push(JSON.parse(line).exchange);
    expect(exchanges).toEqual([1, 2]);
  });

  describe('that is followed by somebody who goes', () => {
    /** Ledgers as the books give them: who follows is noted when it begins, and crossed out by the generator's end. */
    function books() {
      const followers = new Set<(ledger: Ledger) => void>();
      const follow = (): AsyncIterableIterator<Ledger> => {
        const queue: Ledger[] = [];
        let wake = (): void => {};
        const follower = (ledger: Ledger): void => {
          queue.push(ledger);
          wake();
        };
        followers.add(follower);
        return drained();
        async function* drained(): AsyncGenerator<Ledger, void, undefined> {
          try {
            while (true) {
              while (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
              const [ledger] = queue.splice(0, 1);
              if (ledger) yield ledger;
            }
          } finally {
            followers.delete(follower);
          }
        }
      };
      const settle = async (exchange: number): Promise<void> => {
        for (const follower of followers) follower(ledgerWith({ exchange }));
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      };
      return { followers, follow, settle };
    }

    function followed(known: readonly Ledger[], filter: JournalFilter = {}) {
      const { followers, follow, settle } = books();
      const target = fake({ ledgers: known, followLedgers: follow });
      const handled = atOnce({ kind: 'journal', filter, follow: true }, target);
      if (handled.kind !== 'follow') throw new Error(handled.kind);
      return { followers, settle, lines: handled.lines };
    }

    const known = [ledgerWith({ exchange: 1 }), ledgerWith({ exchange: 2 })];
    const cases: readonly (readonly [string, readonly Ledger[], JournalFilter, number])[] = [
      ['before the first line', known, {}, 0],
      ['among the lines that were there', known, {}, 1],
      ['while nothing comes', [], {}, 1],
      ['while nothing matches', [], { lane: 'never' }, 1],
    ];
    for (const [when, there, filter, asked] of cases) {
      it(`${when}, is followed no more at the next ledger`, async () => {
        const { followers, settle, lines } = followed(there, filter);
        for (let n = 0; n < asked; n++) void lines.next();
        await settle(10);
        if (filter.lane) void lines.next();
        expect(followers.size).toBe(1);
        void lines.return?.();
        await settle(11);
        expect(followers.size).toBe(0);
      });
    }
  });
});
