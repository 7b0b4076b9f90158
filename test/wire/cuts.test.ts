import { describe, expect, it } from 'vitest';
import { offsetOf, POSITIONS, type Position } from '../../src/fault/position.js';
import { CUT_TEARDOWNS, type FaultSpec } from '../../src/fault/spec.js';
import type { ScriptWord } from '../../src/index.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';
import { serve } from '../support/server.js';
import { post, witness } from '../support/witness.js';

/** `teardown@position` at real sockets: the witness has exactly that prefix, and that end. */
const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
const OPTIONS = {
  successText: 'żółw 👧 "x"',
  fidelity: 'plain',
  requestId: 'req_fixed',
  disconnectDelayMs: 0,
} as const;

const ENDS = { rst: 'rst', rst_now: 'rst', fin: 'fin', half_close: 'fin', stall: 'open', eof: 'open' } as const;

/** One position of each form that a streamed text answer reaches. */
const PLACES: readonly Position[] = [
  'request',
  'status_line:9',
  'headers',
  'headers:20',
  'body:1',
  'body:100',
  'byte:33',
  'chunk:1',
  'chunk:2.size',
  'chunk:2.data+5',
  'chunk:2.end',
  'last_chunk',
  'last_chunk.end',
  'last_chunk+1',
  'event:1',
  'event:0+7',
  'event:1+17',
  'event:2.mid',
  'text:3',
  'char:1.mid',
  'char:4.mid',
  'char:4+3',
  'half',
  'deltas',
  'terminator',
  'events',
  'end',
];

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const position of PLACES) {
    it(`is cut at ${position} by each teardown`, async () => {
      const plan = planner(OPTIONS)('success', protocol);
      const offset = offsetOf(position, plan) ?? -1;
      expect(offset).toBeGreaterThanOrEqual(0);
      const teardowns = CUT_TEARDOWNS.filter((teardown) => teardown !== 'eof');
      const server = await serve({
        ...OPTIONS,
        sequence: teardowns.map((teardown) => `${teardown}@${position}` as const),
      });
      for (const [n, teardown] of teardowns.entries()) {
        const client = witness(server.port);
        client.send(post(PATHS[protocol], { stream: true, model: 'mock-model' }));
        await server.event((event) => event.type === 'request' && event.attempt === n + 1);
        if (ENDS[teardown] === 'open') await client.until((bytes) => bytes.length >= offset);
        else if (teardown !== 'rst_now') expect(await client.ended).toBe(ENDS[teardown]);
        // A Node client that gets data and RST at once mostly sees an end; the flag itself is seen in a capture.
        else await client.ended;
        if (teardown !== 'rst_now') {
          // Ids and times differ between the plan and this answer, its length doesn't.
          expect(client.received.length).toBe(offset);
        } else expect(client.received.length).toBeLessThanOrEqual(offset);
        client.close();
        const ledger = await server.ledger(n + 1);
        expect(ledger.cut).toMatchObject({ position, offset });
        expect(ledger.bytes.written).toBe(offset);
      }
    });
  }

  it('eof ends the framing at an event and at a byte inside of it', async () => {
    const server = await serve({ ...OPTIONS, sequence: ['eof@event:2', 'eof@event:2+9', 'success'] });
    const client = witness(server.port);
    const request = post(PATHS[protocol], { stream: true, model: 'mock-model' });
    for (const count of [1, 2, 3]) {
      client.send(request);
      await client.until((bytes) => bytes.toString().split('\r\n0\r\n\r\n').length > count);
    }
    const [first = '', second = ''] = client.received.toString().split('\r\n0\r\n\r\n');
    const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);
    expect(bodyOf(first).match(/\n\n/g)).toHaveLength(2);
    expect(bodyOf(second)).toMatch(/\r\n9\r\n.{9}$/s);
    client.close();
  });
});

it('every form of position has its place above', () => {
  const missing = POSITIONS.filter(({ pattern }) => !PLACES.some((place) => pattern.test(place))).map(
    ({ form }) => form,
  );
  // Those of the request are tested with what is read of it (early.test.ts), those of other shapes of answers below.
  expect(missing).toEqual(['accept', 'request:K', 'eol:N.mid', 'tool_args:N']);
});

it('tool_args cuts inside of the arguments', async () => {
  const server = await serve({ ...OPTIONS, sequence: ['rst@tool_args:3'] });
  const client = witness(server.port);
  client.send(post('/v1/messages', { stream: true }));
  expect(await client.ended).toBe('rst');
  expect(client.received.toString().endsWith('"partial_json":"{\\"v')).toBe(true);
});

it('eol cuts between CR and LF', async () => {
  const fault: FaultSpec = { sse: { eol: 'crlf' }, cut: { at: 'eol:3.mid', teardown: 'fin' } };
  const server = await serve({ ...OPTIONS, sequence: [fault] });
  const client = witness(server.port);
  client.send(post('/v1/messages', { stream: true }));
  expect(await client.ended).toBe('fin');
  // The third line end is the one behind the blank line of the first event.
  expect(client.received.toString()).toMatch(/\r\n\r\n[0-9a-f]+\r\nevent: message_start\r\ndata: \{.*\}\r\n\r$/);
});

describe('a position that some answers have, and this one has not', () => {
  const WORDS = {
    'a cut in the chunks of a JSON body': ['rst@chunk:1', false],
    'an end at an event that other protocols have': ['eof@event:15', true],
    'a pause in the chunks of a JSON body': [{ pace: { pauses: [{ at: 'chunk:1', ms: 1 }] } }, false],
    'a gate behind a cut': [
      { pace: { gates: [{ at: 'event:2', name: 'never' }] }, cut: { at: 'text:1', teardown: 'rst' } },
      true,
    ],
  } as const satisfies Record<string, readonly [ScriptWord | FaultSpec, boolean]>;
  for (const [name, [word, stream]] of Object.entries(WORDS)) {
    it(`${name}: a 500 that says so, and the ledger too; the next exchange is healthy`, async () => {
      // Long enough for the position in one protocol, and too short in this one.
      const server = await serve({ ...OPTIONS, chunkSize: 1, sequence: [word, 'success'] });
      const client = witness(server.port);
      client.send(post('/v1/chat/completions', { stream }));
      const bytes = await client.until((received) => readAnswer(received)?.complete === true);
      const answer = readAnswer(bytes);
      expect(answer?.status).toBe(500);
      expect(JSON.parse(String(answer?.body))).toMatchObject({
        error: { code: 'PLAN_IMPOSSIBLE', message: expect.stringMatching(/^position \S+: /) },
      });
      expect(await server.ledger(1)).toMatchObject({ outcome: 'cut_unreached', cut: null, teardown: { first: null } });
      expect(server.requests).toMatchObject([{ outcome: 'cut_unreached' }]);
      client.send(post('/v1/chat/completions', { stream }, { Connection: 'close' }));
      expect(await client.ended).toBe('fin');
      expect(readAnswer(client.received.subarray(bytes.length))).toMatchObject({ status: 200, complete: true });
    });
  }
});

it('half_close goes on reading until the client closes', async () => {
  const server = await serve({ ...OPTIONS, sequence: ['half_close@event:1'] });
  const client = witness(server.port);
  client.send(post('/v1/messages', { stream: true }));
  expect(await client.ended).toBe('fin');
  await server.results(1);
  expect(await server.ledger(1)).toMatchObject({
    outcome: 'closed',
    teardown: { kind: 'half_close', first: 'server' },
  });
});
