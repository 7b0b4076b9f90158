import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { offsetOf, offsetsOf, type Position } from '../../src/fault/position.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { answerScan } from '../../src/proxy/answer-scan.js';
import { type LivePlace, livePlace, needOf } from '../../src/proxy/live-place.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { planner } from '../support/plans.js';
import { pieces } from './support/splits.js';

const planOf = planner({ successText: 'mock żółw 回复 👧 recovered', chunkSize: 4 });

/** Looks for a place in bytes that come in `splits`; checks that none behind it would have passed before. */
function found(place: LivePlace, bytes: Buffer, splits: readonly number[], protocol: Protocol): number[] {
  const at: number[] = [];
  const scan = answerScan('POST', protocol, place);
  let received = 0;
  let passed = 0;
  for (const piece of pieces(bytes, splits)) {
    scan.feed(piece);
    received += piece.length;
    place.onBytes?.(received);
    for (let next = place.at(); next !== undefined && next <= received; next = place.at()) {
      expect(next).toBeGreaterThanOrEqual(passed);
      at.push(next);
      place.next();
    }
    passed = Math.max(passed, Math.min(received, scan.unsure() ?? received, place.at() ?? place.safe()));
  }
  for (let next = place.at(); next !== undefined; next = place.at()) {
    at.push(next);
    place.next();
  }
  return at;
}

const POSITIONS: readonly Position[] = [
  'status_line:0',
  'status_line:9',
  'headers',
  'headers:12',
  'body:0',
  'body:1',
  'body:700',
  'byte:0',
  'byte:100',
  'byte:900',
  'chunk:1',
  'chunk:2.size',
  'chunk:3.data+5',
  'chunk:2.end',
  'last_chunk',
  'last_chunk.end',
  'last_chunk+1',
  'last_chunk+5',
  'event:1',
  'event:4',
  'event:0+0',
  'event:0+17',
  'event:2+3',
  'event:3.mid',
  'text:1',
  'text:9',
  'text:12',
  'char:1.mid',
  'char:3.mid',
  'char:4+1',
  'char:5+3',
  'deltas',
  'terminator',
  'events',
  'end',
];

const HEALTHY: FaultSpec = {};
const FORMS: Readonly<Record<string, FaultSpec>> = {
  healthy: HEALTHY,
  'one chunk': { framing: { chunks: 'whole' } },
  'chunks of 7 bytes': { framing: { chunks: { bytes: 7 } } },
  'a length': { framing: { kind: 'content_length' } },
  CR: { sse: { eol: 'cr' } },
  'CRLF in chunks of 3 bytes': { sse: { eol: 'crlf', bom: 'start' }, framing: { chunks: { bytes: 3 } } },
  'mixed line ends': { sse: { eol: 'mixed', ids: true, dataLines: 3 } },
};

describe.each(PROTOCOLS)('%s', (protocol) => {
  it.each(Object.entries(FORMS))('finds what is found in the whole answer: %s', (_, fault) => {
    const plan = planOf(fault, protocol, { body: { stream: true } });
    const wholes = new Map(POSITIONS.map((position) => [position, offsetOf(position, plan)]));
    fc.assert(
      fc.property(
        fc.constantFrom(...POSITIONS),
        fc.array(fc.nat(plan.bytes.length), { maxLength: 40 }),
        (position, splits) => {
          const [first] = found(livePlace(position, protocol), plan.bytes, splits, protocol);
          expect([position, first]).toEqual([position, wholes.get(position)]);
        },
      ),
      { numRuns: 150, seed: 7 },
    );
  });

  it.each(['event:*', 'event:*.mid', 'char:*.mid', 'chunk:*', 'text:*', 'chunk:*.size'])(
    'finds each of %s',
    (pattern) => {
      const plan = planOf(HEALTHY, protocol, { body: { stream: true } });
      fc.assert(
        fc.property(fc.array(fc.nat(plan.bytes.length), { maxLength: 30 }), (splits) => {
          expect(found(livePlace(pattern, protocol), plan.bytes, splits, protocol)).toEqual(offsetsOf(pattern, plan));
        }),
        { numRuns: 20, seed: 7 },
      );
    },
  );

  it('finds places in the arguments of tool calls', () => {
    const plan = planOf('parallel_tool_calls', protocol, { body: { stream: true } });
    for (const position of ['tool_args:1', 'tool_args:7', 'tool_args:20', 'deltas'] as const) {
      expect(found(livePlace(position, protocol), plan.bytes, [], protocol)[0]).toBe(offsetOf(position, plan));
    }
  });
});

describe('line ends', () => {
  it('are found between CR and LF, wherever the bytes are split', () => {
    const plan = planOf({ sse: { eol: 'crlf' } }, 'openai-chat', { body: { stream: true } });
    for (const splits of [[], Array.from(plan.bytes.keys())]) {
      const live = found(livePlace('eol:*.mid', 'openai-chat'), plan.bytes, splits, 'openai-chat');
      expect(live).toEqual(offsetsOf('eol:*.mid', plan));
    }
  });
});

describe('a position that an answer does not have', () => {
  it.each([
    'event:99',
    'event:3+9999',
    'text:999',
    'chunk:99',
    'byte:99999',
    'body:99999',
    'last_chunk+9',
    'tool_args:1',
  ])('%s is not found', (position) => {
    const plan = planOf(HEALTHY, 'openai-chat', { body: { stream: true } });
    expect(found(livePlace(position, 'openai-chat'), plan.bytes, [50, 300], 'openai-chat')).toEqual([]);
  });
});

describe('what a position needs', () => {
  it('is the whole answer for half of it alone', () => {
    expect(needOf('half')).toBe('whole');
    expect(needOf('deltas')).toBe('events');
    expect(needOf('chunk:3.data+2')).toBe('wire');
  });
});
