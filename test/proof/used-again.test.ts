import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness } from '../support/witness.js';

/**
 * The memory of an answer is used again for others once the kernel has all of it; in tests it is overwritten when it
 * is given back (test/support/setup.ts). Whatever is told of the answer later is still what a witness got.
 */
const ASK = post('/v1/chat/completions', { stream: true });
const TEXT = { successText: 'abcdefgh'.repeat(17), chunkSize: 8, repeatLast: true, control: false } as const;

/** Answers one after the other on a kept connection, as they came. */
async function answers(client: Witness, count: number): Promise<Buffer[]> {
  const came: Buffer[] = [];
  let end = client.received.length;
  for (let n = 0; n < count; n++) {
    client.send(ASK);
    const all = await client.until((received) => readAnswer(received.subarray(end))?.complete === true);
    came.push(all.subarray(end));
    end = all.length;
  }
  return came;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function served(count: number, options: FaultServerOptions): Promise<{ server: Served; came: Buffer[] }> {
  const server = await serve({ ...TEXT, ...options });
  const came: Buffer[] = [];
  // A witness keeps all bytes of its connection together.
  while (came.length < count) {
    const client = witness(server.port);
    came.push(...(await answers(client, 50)));
    client.close();
    await server.idle();
  }
  return { server, came };
}

/** Enough to fill several slabs. */
const MANY = 400;

describe('answers whose memory is used again', () => {
  it('have ledgers of what came, though they are made long after', async () => {
    const { server, came } = await served(MANY, { ledgerHistory: MANY / 2 });
    const told = server.ledgers.map(({ plan }) => [plan.sha256, plan.writtenSha256]);
    expect(told).toEqual(came.slice(MANY / 2).map((bytes) => [sha256(bytes), sha256(bytes)]));
    expect(new Set(told.flat()).size).toBe(MANY / 2);
  });

  it.each([0, 10])('have lines of what came in the journal, with %i ledgers kept', async (ledgerHistory) => {
    const dir = await mkdtemp(join(tmpdir(), 'wirefault-again-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const journal = join(dir, 'journal');
    const { server, came } = await served(MANY, { journal, ledgerHistory });
    const lines = (await readFile(journal, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).plan.writtenSha256)).toEqual(came.map(sha256));
    expect(server.ledgers).toEqual(
      ledgerHistory === 0 ? [] : lines.slice(-ledgerHistory).map((line) => JSON.parse(line)),
    );
  });

  it('are given by the control plane as they came, and those that are no longer kept as not kept', async () => {
    const { server, came } = await served(1200, { control: true, ledgerHistory: 20 });
    const bytesOf = (n: number) => fetch(`http://127.0.0.1:${server.port}/__journal/${n}/response`);
    for (const n of [201, 500, 1199, 1200]) {
      const kept = Buffer.from(await (await bytesOf(n)).arrayBuffer());
      expect(sha256(kept)).toBe(sha256(came[n - 1] ?? Buffer.alloc(0)));
    }
    expect((await bytesOf(200)).status).toBe(404);
  });

  it('go out whole to clients that are slow, while others are answered', async () => {
    const server = await serve({
      ...TEXT,
      successText: 'abcdefgh'.repeat(80),
      sequence: ['slow_success', 'success'],
      chunkDelayMs: 2,
    });
    const slow = witness(server.port);
    const first = answers(slow, 1);
    await server.event(({ type }) => type === 'request');
    const quick = witness(server.port);
    await answers(quick, 200);
    const [came] = await first;
    await server.idle();
    const ledger = await server.ledger(1);
    expect(came && sha256(came)).toBe(ledger.plan.writtenSha256);
    expect(readAnswer(came ?? Buffer.alloc(0))?.complete).toBe(true);
  });

  it('is not the memory of what its client has left unread, though it has no ledger', async () => {
    const server = await serve({ ...TEXT, ledgerHistory: 0, evidence: 'callbacks' });
    const late = witness(server.port);
    await late.connected;
    late.pause();
    // More than the kernel takes of who doesn't read, so that one answer is under way all the time.
    const asked = 1500;
    late.send(ASK.repeat(asked));
    const quick = witness(server.port);
    await answers(quick, 100);
    quick.close();
    await expect.poll(() => server.requests.length).toBeGreaterThan(200);
    expect(server.requests.length).toBeLessThan(asked + 100);
    const others = witness(server.port);
    await answers(others, 100);
    others.close();
    late.resume();
    const end = '\r\n0\r\n\r\n';
    const all = await late.until((received) => received.toString('latin1').split(end).length > asked);
    const came = all.toString('latin1').split(end).slice(0, asked);
    expect(came.filter((answer) => !/^HTTP.1.1 200 OK[^\xa5]*data: \[DONE\]\n\n$/s.test(answer))).toEqual([]);
    expect(new Set(came).size).toBe(asked);
  });
});
