import { spawnSync } from 'node:child_process';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gzipped } from '../../src/http/encoding.js';
import type { Marked } from '../../src/sse/mark.js';

const part = (bytes: Uint8Array | string, ...marks: Marked['marks']): Marked => ({ bytes: Buffer.from(bytes), marks });
const joined = (parts: readonly Marked[]): Buffer => Buffer.concat(parts.map(({ bytes }) => bytes));

const PARTS = [
  'event: message_start\ndata: {"type":"message_start"}\n\n',
  'event: ping\ndata: {"type": "ping"}\n\n',
  `data: ${'zażółć 👧 '.repeat(5000)}\n\n`,
  'event: ping\ndata: {"type": "ping"}\n\n',
].map((text) => part(text));

/** What a reader has, once it has been given these bytes of a gzip stream. */
const sofar = (bytes: Buffer): Buffer => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });

const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 400 }), { maxLength: 10 });

describe('gzip', () => {
  it('is read as the parts', () => {
    fc.assert(
      fc.property(bodies, (given) => {
        expect(gunzipSync(joined(gzipped(given.map((bytes) => part(bytes))))).equals(Buffer.concat(given))).toBe(true);
      }),
      { seed: 41 },
    );
  });

  it('has each part whole at the reader as soon as its bytes are there', () => {
    fc.assert(
      fc.property(bodies, (given) => {
        const encoded = gzipped(given.map((bytes) => part(bytes)));
        expect(encoded).toHaveLength(given.length + 1);
        for (let count = 1; count <= given.length; count++) {
          const read = sofar(joined(encoded.slice(0, count)));
          expect(read.equals(Buffer.concat(given.slice(0, count)))).toBe(true);
        }
      }),
      { seed: 42 },
    );
  });

  it('has each part whole at a reader that is fed part by part', async () => {
    const inflater = createGunzip();
    for (const [at, { bytes }] of gzipped(PARTS).slice(0, -1).entries()) {
      const read: Buffer[] = [];
      const take = (chunk: Buffer): void => {
        read.push(chunk);
      };
      inflater.on('data', take);
      await new Promise<void>((resolve) => {
        inflater.write(bytes, () => resolve());
      });
      // What is pushed is told in the turn after.
      await new Promise((resolve) => setImmediate(resolve));
      inflater.off('data', take);
      expect(Buffer.concat(read).toString()).toBe(PARTS[at]?.bytes.toString());
    }
    inflater.destroy();
  });

  it('is a different stream only where the parts are', () => {
    expect(joined(gzipped(PARTS))).toEqual(joined(gzipped(PARTS)));
    // No part refers to the ones before it: the same part is the same bytes again.
    const [, second, , fourth] = gzipped(PARTS);
    expect(second?.bytes).toEqual(fourth?.bytes);
  });

  it('of nothing is an empty stream', () => {
    expect(gunzipSync(joined(gzipped([])))).toHaveLength(0);
  });

  it('of empty parts has no byte for them: what a cut left out is no chunk', () => {
    const encoded = gzipped([part('a'), part(''), part('')]);
    expect(gunzipSync(joined(encoded)).toString()).toBe('a');
    expect(encoded).toHaveLength(2);
  });

  it('moves the marks of whole parts and has none of what is inside', () => {
    const marked = part(
      'data: abc\n\n',
      { kind: 'event', index: 1, name: 'x', role: 'delta', start: 0, end: 11 },
      { kind: 'text', index: 1, start: 6, end: 9 },
    );
    const [first, second, end] = gzipped([marked, marked]);
    for (const encoded of [first, second]) {
      expect(encoded?.marks).toEqual([
        { kind: 'event', index: 1, name: 'x', role: 'delta', start: 0, end: encoded?.bytes.length },
      ]);
    }
    expect(end?.marks).toEqual([]);
  });
});

describe('other readers', () => {
  const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

  it.skipIf(!has('gzip', '--version'))('gzip -t finds no fault, and gzip -d reads it', () => {
    const input = joined(gzipped(PARTS));
    const tested = spawnSync('gzip', ['-t'], { input });
    expect([tested.status, tested.stderr.toString()]).toEqual([0, '']);
    expect(spawnSync('gzip', ['-dc'], { input, maxBuffer: 2 ** 24 }).stdout.equals(joined(PARTS))).toBe(true);
    expect(spawnSync('gzip', ['-t'], { input: input.subarray(0, -1) }).status).not.toBe(0);
  });

  it.skipIf(!has('python3', '--version'))("python's decompressobj has each part when it is due", () => {
    const script = [
      'import sys, json, zlib, base64',
      'reader = zlib.decompressobj(31)',
      'print(json.dumps([reader.decompress(base64.b64decode(part)).decode() for part in json.load(sys.stdin)]))',
    ].join('\n');
    const input = JSON.stringify(gzipped(PARTS).map(({ bytes }) => bytes.toString('base64')));
    const { stdout } = spawnSync('python3', ['-c', script], { input, maxBuffer: 2 ** 24 });
    expect(JSON.parse(stdout.toString())).toEqual([...PARTS.map(({ bytes }) => bytes.toString()), '']);
  });
});
