import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadScenario } from '../../src/scenario/load.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { type Answer, readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type WireEnd, witnessed } from '../support/witness.js';

/**
 * Replay of side effects: the scenario that is shipped, and rules with a key. The client that retries gets the answer
 * that it was cut off from, and the ledger proves that it got it once.
 */
const SCENARIO = fileURLToPath(new URL('../../scenarios/cut-then-reconcile.yaml', import.meta.url));
const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
const then = { behavior: 'success', result: 'same' } as const;
const BY_HEADER = { key: 'header:Idempotency-Key', fault: 'F1', then } as const;
const QUICK = { chunkDelayMs: 0, disconnectDelayMs: 0 } as const;

interface Got {
  readonly bytes: Buffer;
  readonly end: WireEnd;
  readonly answer: Answer | undefined;
}

interface Asking {
  readonly key?: string;
  readonly path?: string;
  readonly body?: object;
}

async function ask(
  server: Served,
  { key, path = PATHS['openai-chat'], body = { stream: true } }: Asking,
): Promise<Got> {
  const headers = { Connection: 'close', ...(key === undefined ? {} : { 'Idempotency-Key': key }) };
  const { bytes, end } = await witnessed(server.port, post(path, body, headers));
  return { bytes, end, answer: readAnswer(bytes) };
}

/** The part of the ledgers that is about keys, by exchange. */
async function keysOf(server: Served): Promise<unknown[]> {
  await server.idle();
  return server.ledgers
    .toSorted((a, b) => a.exchange - b.exchange)
    .map(({ key, selection: { behavior, rule } }) => [rule, behavior, key?.value, key?.nth, key?.delivered]);
}

/** The clock of dates goes on by hand: what an answer says of the time must not come from when it was asked again. */
function laterBy(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

function clockByHand(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** An answer's bytes as text, without what HTTP says of the connection. */
const whole = ({ bytes }: Got): string => bytes.toString('latin1');

describe('scenarios/cut-then-reconcile.yaml', () => {
  const served = async () => serve({ ...QUICK, ...(await loadScenario(SCENARIO)) });

  describe.each(PROTOCOLS)('%s', (protocol) => {
    for (const stream of [true, false]) {
      it(`${stream ? 'streamed' : 'as JSON'}: half under 200, then the whole of it, byte for byte the same`, async () => {
        clockByHand();
        const server = await served();
        const asking = { key: 'order-7', path: PATHS[protocol], body: { stream } };
        const cut = await ask(server, asking);
        expect([cut.answer?.status, cut.end, cut.answer?.complete]).toEqual([200, 'rst', false]);
        // A client takes its time, and others are answered meanwhile.
        laterBy(61_000);
        await ask(server, { ...asking, key: 'order-8' });
        const second = await ask(server, asking);
        laterBy(3_600_000);
        const third = await ask(server, asking);
        expect([second.answer?.status, second.end, second.answer?.complete]).toEqual([200, 'fin', true]);
        expect(whole(second).startsWith(whole(cut))).toBe(true);
        expect(cut.bytes.length).toBeGreaterThan(300);
        expect(whole(third)).toBe(whole(second));
        expect(await keysOf(server)).toEqual([
          ['cut_then_reconcile', 'F1', 'order-7', 1, 0],
          ['cut_then_reconcile', 'F1', 'order-8', 1, 0],
          ['cut_then_reconcile', 'success', 'order-7', 2, 1],
          // A client that goes on asking is found out.
          ['cut_then_reconcile', 'success', 'order-7', 3, 2],
        ]);
      });
    }
  });

  const byTool: readonly (readonly [Protocol, string, (id: string) => object])[] = [
    ['openai-chat', 'tool_call_id', (id) => ({ messages: [{ role: 'tool', tool_call_id: id, content: 'done' }] })],
    [
      'anthropic-messages',
      'tool_use_id',
      (id) => ({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] }] }),
    ],
    [
      'openai-responses',
      'call_id',
      (id) => ({ input: [{ type: 'function_call_output', call_id: id, output: 'done' }] }),
    ],
  ];
  for (const [protocol, name, bodyOf] of byTool) {
    it(`by the ${name} of ${protocol}, where there is no key in a header`, async () => {
      const server = await served();
      const asking = (id: string) => ({ path: PATHS[protocol], body: { stream: true, ...bodyOf(id) } });
      const [cut, second] = [await ask(server, asking('call_1')), await ask(server, asking('call_1'))];
      expect(whole(second).startsWith(whole(cut))).toBe(true);
      expect((await ask(server, asking('call_2'))).end).toBe('rst');
      const rule = `cut_then_reconcile_by_${name}`;
      expect(await keysOf(server)).toEqual([
        [rule, 'F1', 'call_1', 1, 0],
        [rule, 'success', 'call_1', 2, 1],
        [rule, 'F1', 'call_2', 1, 0],
      ]);
    });
  }

  it('requests without a key are none of its business', async () => {
    const server = await served();
    expect((await ask(server, {})).end).toBe('fin');
    expect(await keysOf(server)).toEqual([[null, 'success', undefined, undefined, undefined]]);
  });

  it('64 clients that retry until the answer is whole get each answer once, and do each thing once', async () => {
    const server = await served();
    const done: string[] = [];
    await Promise.all(
      Array.from({ length: 64 }, async (_, n) => {
        for (let attempt = 1; ; attempt++) {
          const { answer } = await ask(server, { key: `effect-${n}` });
          if (!answer?.complete) continue;
          done.push(`${n}: ${attempt}`);
          return;
        }
      }),
    );
    expect(done.toSorted()).toEqual(Array.from({ length: 64 }, (_, n) => `${n}: 2`).toSorted());
    await server.idle();
    const delivered = new Map<string, number>();
    for (const { key } of server.ledgers)
      if (key) delivered.set(key.value, Math.max(delivered.get(key.value) ?? 0, key.delivered));
    expect(delivered.size).toBe(64);
    expect(new Set(delivered.values())).toEqual(new Set([1]));
  });
});

describe('rules with a key', () => {
  it('with once are for the first key that comes; all others are as ever', async () => {
    const server = await serve({ ...QUICK, rules: [{ ...BY_HEADER, once: true }] });
    const ends: unknown[] = [];
    for (const key of ['a', 'b', 'a', 'c', 'a']) ends.push((await ask(server, { key })).end);
    expect(ends).toEqual(['rst', 'fin', 'fin', 'fin', 'fin']);
    expect(await keysOf(server)).toEqual([
      ['1', 'F1', 'a', 1, 0],
      [null, 'success', undefined, undefined, undefined],
      ['1', 'success', 'a', 2, 1],
      [null, 'success', undefined, undefined, undefined],
      ['1', 'success', 'a', 3, 2],
    ]);
    expect(server.rules).toMatchObject([{ hits: 3, left: 0 }]);
  });

  it('with times are for so many keys, however many clients come at once', async () => {
    const server = await serve({ ...QUICK, rules: [{ ...BY_HEADER, times: 7 }] });
    const ask2 = async (key: string) => [(await ask(server, { key })).end, (await ask(server, { key })).end];
    const ends = await Promise.all(Array.from({ length: 40 }, (_, n) => ask2(`k${n}`)));
    expect(ends.filter(([first, second]) => first === 'rst' && second === 'fin')).toHaveLength(7);
    expect(ends.filter(([first, second]) => first === 'fin' && second === 'fin')).toHaveLength(33);
    expect(server.rules).toMatchObject([{ hits: 14, left: 0 }]);
  });

  it('of clients with one key at the same moment, one gets the fault', async () => {
    const server = await serve({ ...QUICK, rules: [BY_HEADER] });
    const got = await Promise.all(Array.from({ length: 16 }, () => ask(server, { key: 'same' })));
    expect(got.filter(({ end }) => end === 'rst')).toHaveLength(1);
    const answers = new Set(got.filter(({ end }) => end === 'fin').map(whole));
    expect(answers.size).toBe(1);
    await server.idle();
    expect(Math.max(...server.ledgers.map(({ key }) => key?.delivered ?? 0))).toBe(15);
  });

  it('are the same also where an answer is made anew each time: in paragraphs, compressed, with jitter', async () => {
    clockByHand();
    const jitter = { extends: 'F1', fault: { pace: { after: { role: 'delta', ms: 1 }, jitter: 0.5 } } } as const;
    const server = await serve({
      ...QUICK,
      contentBlocks: 4,
      behaviors: { jitter },
      rules: [{ ...BY_HEADER, fault: 'jitter' }],
    });
    for (const headers of [{}, { 'Accept-Encoding': 'gzip' }]) {
      const request = post(
        PATHS['anthropic-messages'],
        { stream: true },
        {
          Connection: 'close',
          'Idempotency-Key': `k${Object.keys(headers)}`,
          ...headers,
        },
      );
      const cut = await witnessed(server.port, request);
      laterBy(5000);
      const second = await witnessed(server.port, request);
      expect([cut.end, second.end]).toEqual(['rst', 'fin']);
      expect(second.bytes.subarray(0, cut.bytes.length).equals(cut.bytes)).toBe(true);
    }
  });

  it('stand behind what a request asks for itself', async () => {
    const server = await serve({ ...QUICK, rules: [BY_HEADER] });
    const asked = await ask(server, { key: 'a', path: `${PATHS['openai-chat']}?fault=empty` });
    expect(asked.end).toBe('fin');
    expect((await ask(server, { key: 'a' })).end).toBe('rst');
    expect(server.rules).toMatchObject([{ hits: 1 }]);
  });
});
