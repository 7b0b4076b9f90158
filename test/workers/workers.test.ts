import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readJournal } from '../../src/proof/journal-read.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { run, type Serving, serving } from '../support/cli-process.js';
import { control, controlJson, keeper } from '../support/control.js';
import { pooled } from '../support/pool.js';
import { post, witness } from '../support/witness.js';

/** `wirefault --workers N`: several processes, and nothing that a client or a control plane could tell them by. */
const CHAT = '/v1/chat/completions';
const ask = (lane = 'a'): string => post(CHAT, { user: lane, stream: true }, { 'x-lane': lane });

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wirefault-workers-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function ledgersIn(path: string): Promise<Ledger[]> {
  const ledgers: Ledger[] = [];
  for await (const line of readJournal(path)) {
    if (line.kind === 'bad') throw new Error(`line ${line.number}: ${line.reason}`);
    ledgers.push(line.ledger);
  }
  return ledgers;
}

/** One request on a connection of its own. */
async function once(port: number, request: string): Promise<string> {
  const client = witness(port);
  client.send(request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  await client.ended;
  return /^HTTP\/1\.1 (\d+)/.exec(client.received.toString('latin1'))?.[1] ?? (await client.ended);
}

async function stop(server: Serving): Promise<void> {
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(143);
}

/** The processes of the workers, from the kernel. */
async function workersOf({ child }: Serving): Promise<number[]> {
  const text = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}

describe('several workers', () => {
  it('give the faults that one process gives, for the same seed, lane and attempt, and keep one journal', async () => {
    const dir = await folder();
    const lanes = ['a', 'b', 'c', 'd', 'e', 'f'];
    const told = async (name: string, ...more: string[]): Promise<{ faults: string[]; ledgers: Ledger[] }> => {
      const journal = join(dir, name);
      const args = [
        '--seed',
        '7',
        '--sequence',
        'random,rate_limit,random',
        '--repeat-last',
        '--lane-by',
        'header:x-lane',
      ];
      const weights = ['--random-weights', 'success=3,auth_error=2,refusal=1'];
      const server = await serving(...args, ...weights, '--journal', journal, '--log-level', 'info', ...more);
      await pooled(Array.from({ length: 120 }), 12, (_) =>
        once(server.port, ask(lanes[Math.floor(Math.random() * 6)])),
      );
      await stop(server);
      const ledgers = await ledgersIn(journal);
      return {
        ledgers,
        faults: ledgers.map(({ lane, attempt, selection }) => `${lane} ${attempt} ${selection.behavior}`),
      };
    };
    const many = await told('many', '--workers', '3');
    const one = await told('one');
    const common = one.faults.filter((fault) => many.faults.includes(fault));
    const numbers = (faults: readonly string[]): Set<string> =>
      new Set(faults.map((fault) => fault.replace(/ \S+$/, '')));
    const both = [...numbers(one.faults)].filter((number) => numbers(many.faults).has(number));
    // Whatever lanes came how often: where both had an attempt, it got the same.
    expect(common.length).toBe(both.length);
    expect(both.length).toBeGreaterThan(60);
    expect(many.ledgers.map(({ exchange }) => exchange).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 120 }, (_, n) => n + 1),
    );
    expect(new Set(many.ledgers.map(({ connection }) => Math.floor(connection / 1e9))).size).toBeGreaterThan(1);
    expect(new Set(many.ledgers.map(({ connection }) => connection)).size).toBe(120);
  });

  it('have one control plane, whichever of them is asked', async () => {
    const { port } = await serving('--workers', '3', '--sequence', 'success', '--repeat-last');
    const added = await controlJson(port, 'POST /__control', { body: { fault: 'rate_limit', times: 3 } });
    expect(added).toMatchObject({ status: 201, json: { id: 1, left: 3 } });
    const statuses = await pooled(Array.from({ length: 12 }), 6, () => once(port, ask()));
    expect(statuses.toSorted()).toEqual([...Array(9).fill('200'), ...Array(3).fill('429')]);
    for (let n = 0; n < 4; n++) {
      expect(await controlJson(port, 'GET /__control')).toMatchObject({
        json: { rules: [], spent: [{ id: 1, hits: 3 }] },
      });
    }
    let ledgers: Ledger[] = [];
    while (ledgers.length < 12) {
      const { body } = await control(port, 'GET /__journal');
      const lines = body.toString().split('\n').filter(Boolean);
      ledgers = lines.map((line) => JSON.parse(line));
    }
    expect(ledgers.map(({ exchange }) => exchange).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
    for (const { exchange, bytes } of ledgers) {
      const answer = await control(port, `GET /__journal/${exchange}/response`);
      expect([answer.status, answer.body.length]).toEqual([200, bytes.written]);
    }
    expect(await controlJson(port, 'POST /__reset')).toMatchObject({ json: { generation: 2 } });
    const metrics = (await control(port, 'GET /__metrics')).body.toString();
    expect(metrics).toContain('wirefault_exchanges_total{behavior="rate_limit",outcome="completed"} 3');
    expect(metrics).toContain('wirefault_requests_total{kind="scripted"} 12');
    expect(await controlJson(port, 'POST /__refuse', { body: { ms: 5 } })).toMatchObject({ status: 409 });
    expect(await controlJson(port, 'GET /__health')).toMatchObject({ status: 200 });
  });

  it('with a port of its own, which the answers are not on', async () => {
    const server = await serving('--workers', '2', '--control-port', '0');
    const controlPort = Number(new URL(String(server.ready.controlURL)).port);
    expect(controlPort).not.toBe(server.port);
    await controlJson(controlPort, 'POST /__control', { body: { fault: 'rate_limit', once: true } });
    expect([await once(server.port, ask()), await once(server.port, ask())]).toEqual(['429', '200']);
    expect((await control(server.port, 'GET /__control')).status).toBe(404);
  });

  it('hold and release exchanges at one gate, and tell the ledgers as they come', async () => {
    const { port } = await serving('--workers', '3');
    const fault = { pace: { gates: [{ at: 'event:1', name: 'go' }] } };
    expect(await controlJson(port, 'POST /__control', { body: { fault } })).toMatchObject({ status: 201 });
    const follower = witness(port);
    follower.send('GET /__journal?follow=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await follower.until((bytes) => bytes.includes('\r\n\r\n'));
    const clients = Array.from({ length: 4 }, () => witness(port));
    for (const client of clients) client.send(ask());
    // Each sends its first event, and then waits.
    for (const client of clients) await client.until((bytes) => bytes.includes('data: '));
    while ((await controlJson<{ waiting: { go?: number } }>(port, 'GET /__gate')).json.waiting.go !== 4);
    await controlJson(port, 'POST /__gate/go', { body: { count: 4 } });
    for (const client of clients) await client.until((bytes) => bytes.includes('[DONE]'));
    await follower.until((bytes) => (bytes.toString().match(/"exchange":/g) ?? []).length === 4);
    for (const client of [...clients, follower]) client.close();
  });

  it('one that is killed: what it was answering is in the journal, and another takes its place', async () => {
    const journal = join(await folder(), 'journal');
    const server = await serving(
      '--workers',
      '2',
      '--sequence',
      'stall@event:1,success',
      '--repeat-last',
      '--journal',
      journal,
    );
    const client = witness(server.port);
    client.send(ask());
    await client.until((bytes) => bytes.includes('data: '));
    const before = await workersOf(server);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    const lost = [await server.event('worker_lost', 1), await server.event('worker_lost', 2)];
    expect(lost.map(({ lostExchanges }) => lostExchanges).toSorted()).toEqual([0, 1]);
    expect(lost[0]).toMatchObject({ reason: 'SIGKILL' });
    expect(await client.ended).toMatch(/rst|fin/);
    // Between the end of one and the beginning of the next nobody listens.
    let status = 'refused';
    while (status === 'refused' || status === 'rst') status = await once(server.port, ask());
    expect(status).toBe('200');
    const after = await workersOf(server);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    await stop(server);
    const ledgers = await ledgersIn(journal);
    expect(ledgers[0]).toMatchObject({
      exchange: 1,
      attempt: 1,
      outcome: 'worker_lost',
      selection: { behavior: 'stall@event:1', source: 'script' },
      stale: true,
    });
    expect(ledgers[1]).toMatchObject({ exchange: 2, attempt: 2, outcome: 'completed' });
  });

  it('end together, and what they were answering is in the journal', async () => {
    const journal = join(await folder(), 'journal');
    const server = await serving(
      '--workers',
      '2',
      '--sequence',
      'stall@event:1',
      '--repeat-last',
      '--journal',
      journal,
    );
    const clients = Array.from({ length: 4 }, () => witness(server.port));
    for (const client of clients) client.send(ask());
    for (const client of clients) await client.until((bytes) => bytes.includes('data: '));
    const pids = await workersOf(server);
    await stop(server);
    for (const client of clients) expect(await client.ended).toMatch(/rst|fin/);
    const ledgers = await ledgersIn(journal);
    expect(ledgers.map(({ exchange }) => exchange).toSorted()).toEqual([1, 2, 3, 4]);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('what workers can not do is refused before they are started', () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['--sequence', 'connection_refused,success'], /^wirefault: --workers: --sequence closes the port.*\n$/],
    [['--state-fallback', 'local'], /^wirefault: --workers: --state-fallback local.*\n$/],
    [['--sequence', 'succes'], /^wirefault: --sequence: unknown behavior "succes", did you mean "success"\?.*\n$/],
  ];
  for (const [args, message] of cases) {
    it(args.join(' '), async () => {
      const { code, stdout, stderr } = await run('--port', '0', '--workers', '2', ...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(message);
    });
  }

  for (const count of ['0', '-1', 'many']) {
    it(`--workers ${count}`, async () => {
      expect(await run('--workers', count)).toMatchObject({ code: 2, stderr: expect.stringContaining('--workers') });
    });
  }

  it('a journal that can not be written: one line', async () => {
    const { code, stderr } = await run('--port', '0', '--workers', '2', '--journal', '/dev/null/journal');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^wirefault: .*\/dev\/null\/journal.*\n$/);
  });

  it('a port that is taken: one line, as without workers', async () => {
    const { port } = await serving();
    const { code, stderr } = await run('--port', String(port), '--workers', '2');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^wirefault: port \d+: .*in use.*\n$/);
  });
});

it('keeper and workers: requests of one connection keep their order', async () => {
  const { port } = await serving('--workers', '2', '--sequence', 'success,rate_limit,auth_error', '--repeat-last');
  const { ask: asked, client } = keeper(port);
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push((await asked(ask())).status);
  expect(statuses).toEqual([200, 429, 401, 401]);
  client.close();
});
