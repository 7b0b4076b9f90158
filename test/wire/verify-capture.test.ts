import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { addVerifyCommand } from '../../src/commands/verify.js';
import type { FaultServerOptions } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { readPackets } from '../../src/proof/pcap.js';
import { connectionsIn, type TcpConnection } from '../../src/proof/tcp-streams.js';
import { addressOf, requestBytes, witness } from '../../src/proof/witness.js';
import { type WitnessEnd, witnessFile } from '../../src/proof/witness-record.js';
import { type CommandRun, runCommand } from '../support/command.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { captured, tcpdumpInstalled } from '../support/tcpdump.js';

/** The journal judged by tcpdump: what the kernel put on the wire of the loopback interface, in every teardown. */
const HOSTS = ['127.0.0.1', '::1'];

interface Run {
  readonly dir: string;
  readonly journal: string;
  readonly pcap: string;
  /** The connections in the capture, without the one that marks its end. */
  readonly connections: readonly TcpConnection[];
  readonly ledgers: readonly Ledger[];
  /** `wirefault verify` with these arguments behind the journal. */
  verify(...args: string[]): Promise<CommandRun>;
}

interface Plan {
  readonly options: FaultServerOptions;
  act(server: Served, url: URL, dir: string): Promise<unknown>;
  /** Options of tcpdump. */
  readonly tcpdump?: readonly string[];
}

/** Lets `act` meet a server with a journal, under tcpdump. */
async function run(ctx: TestContext, host: string, { options, act, tcpdump }: Plan): Promise<Run> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-verify-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const journal = path.join(dir, 'journal.jsonl');
  const pcap = path.join(dir, 'wire.pcap');
  const server = await serve({ host, journal, capture: path.join(dir, 'bytes'), chunkDelayMs: 1, ...options });
  const acting = async (): Promise<void> => {
    await act(server, new URL(`${server.baseURL}/v1/chat/completions`), dir);
    await server.idle();
  };
  const file = await captured({ port: server.port, host, ctx, ...(tcpdump ? { options: tcpdump } : {}) }, acting);
  await writeFile(pcap, file);
  const lines = (await readFile(journal, 'utf8')).trimEnd().split('\n');
  const connections = connectionsIn(readPackets(file, pcap));
  return {
    dir,
    journal,
    pcap,
    connections: connections.slice(0, -1),
    // They are in the order in which their evidence settled.
    ledgers: lines.map((line): Ledger => JSON.parse(line)).toSorted((a, b) => a.exchange - b.exchange),
    verify: (...args) => runCommand(addVerifyCommand, ['verify', journal, ...args]),
  };
}

const BODY = Buffer.from(JSON.stringify({ model: 'm', stream: true, messages: [] }));

/** One request of a raw client; `closeWhen` holds, it closes the connection. */
function ask(url: URL, given: { readonly keepAlive?: boolean; closeWhen?: (received: Buffer) => boolean } = {}) {
  const closing = new AbortController();
  const parts: Buffer[] = [];
  const headers = [['Connection', given.keepAlive ? 'keep-alive' : 'close']] as const;
  return witness({
    ...addressOf(url),
    url: url.href,
    request: requestBytes({ url, headers, body: BODY }),
    signal: closing.signal,
    onSegment: ({ bytes }) => {
      parts.push(bytes);
      if (given.closeWhen?.(Buffer.concat(parts))) closing.abort();
    },
  });
}

const whole = (received: Buffer): boolean => readAnswer(received)?.complete === true;
const headed = (received: Buffer): boolean => readAnswer(received) !== undefined;

interface Teardown {
  readonly name: string;
  readonly behavior: NonNullable<FaultServerOptions['sequence']>[number];
  readonly request?: Parameters<typeof ask>[1];
  readonly end: WitnessEnd;
  /** Who sent the first flag on the wire, and which. */
  readonly first: NonNullable<TcpConnection['first']>;
}

const RESET = { end: 'rst', first: { by: 'server', how: 'rst' } } as const;
const CLOSED_BY_SERVER = { end: 'fin', first: { by: 'server', how: 'fin' } } as const;
const CLOSED_BY_CLIENT = { end: 'closed', first: { by: 'client', how: 'fin' } } as const;

const TEARDOWNS: readonly Teardown[] = [
  {
    name: 'success, kept alive',
    behavior: 'success',
    request: { keepAlive: true, closeWhen: whole },
    ...CLOSED_BY_CLIENT,
  },
  { name: 'success, closed', behavior: 'success', ...CLOSED_BY_SERVER },
  { name: 'empty_body', behavior: 'empty_body', ...CLOSED_BY_SERVER },
  { name: 'connection_reset', behavior: 'connection_reset', ...RESET },
  { name: 'stream_disconnect', behavior: 'stream_disconnect', ...RESET },
  { name: 'partial_disconnect', behavior: 'partial_disconnect', ...RESET },
  { name: 'rst in a chunk', behavior: 'rst@chunk:2.data+5', ...RESET },
  { name: 'rst_now', behavior: 'rst_now@event:2', ...RESET },
  { name: 'fin in an event', behavior: 'fin@event:2.mid', ...CLOSED_BY_SERVER },
  { name: 'half_close in a character', behavior: 'half_close@event:3+1', ...CLOSED_BY_SERVER },
  { name: 'eof', behavior: 'eof@event:2', ...CLOSED_BY_SERVER },
  { name: 'stall, closed by the client', behavior: 'stall', request: { closeWhen: headed }, ...CLOSED_BY_CLIENT },
];

describe.skipIf(!tcpdumpInstalled)(`judged by tcpdump${tcpdumpInstalled ? '' : ' (skipped: not installed)'}`, () => {
  for (const host of HOSTS) {
    for (const { name, behavior, request, end, first } of TEARDOWNS) {
      it(`${host}: ${name}: flags, sequence numbers and byte counts agree`, async (ctx) => {
        const { dir, pcap, connections, ledgers, verify } = await run(ctx, host, {
          options: { sequence: [behavior] },
          act: async (_, url, folder) => {
            const record = await ask(url, request);
            expect(record.end).toBe(end);
            await writeFile(path.join(folder, 'seen.jsonl'), witnessFile(record));
          },
        });
        expect(connections).toHaveLength(1);
        expect(ledgers).toHaveLength(1);
        const [{ toClient, first: seenFirst } = {}] = connections;
        const [{ bytes, connectionOffset } = {}] = ledgers;
        expect(connectionOffset).toBe(0);
        expect(seenFirst).toEqual(first);
        expect(bytes).toMatchObject({ flushed: toClient?.sentBytes, written: toClient?.sentBytes });
        // The sequence number of the flag stands right behind the last byte.
        expect(first.how === 'rst' ? toClient?.rstAt : toClient?.finAt).toBe(bytes?.flushed);
        expect(first.how === 'rst' ? toClient?.finAt : toClient?.rstAt).toBeNull();

        const seen = ['--witness', path.join(dir, 'seen.jsonl')];
        expect(await verify('--pcap', pcap, ...seen)).toMatchObject({ code: 0 });
        const { code, out } = await verify('--pcap', pcap, ...seen, '--capture', path.join(dir, 'bytes'), '--json');
        expect(code).toBe(0);
        const agreed = { exchange: 1, behavior, compared: 'bytes', differences: [] };
        expect(JSON.parse(out)).toMatchObject({ agrees: true, unseen: [], verdicts: [agreed, agreed] });
      });
    }
  }

  it('exchanges that share a connection, with an answer between them that has no ledger', async (ctx) => {
    const { dir, pcap, ledgers, connections, verify } = await run(ctx, '127.0.0.1', {
      options: { sequence: ['success', 'empty_body', 'partial_disconnect'] },
      act: (_, url) => {
        const headers = [['Connection', 'keep-alive']] as const;
        const post = requestBytes({ url, headers, body: BODY });
        const models = requestBytes({ url: new URL('/v1/models', url), headers });
        return witness({
          ...addressOf(url),
          url: url.href,
          request: Buffer.concat([models, post, models, post, post]),
        });
      },
    });
    expect(ledgers.map(({ teardown }) => teardown.kind)).toEqual(['keep_alive', 'eof', 'rst']);
    expect(connections[0]?.toClient.sentBytes).toBe(
      (ledgers[2]?.connectionOffset ?? 0) + (ledgers[2]?.bytes.flushed ?? 0),
    );
    const { code, out } = await verify('--pcap', pcap, '--capture', path.join(dir, 'bytes'), '--json');
    expect(JSON.parse(out).verdicts).toMatchObject(Array(3).fill({ compared: 'bytes', differences: [] }));
    expect(code).toBe(0);
  });

  // Node calls back without an error for writes that a reset has thrown away: they must not count as flushed.
  it('a client that takes a part of 8 MB and goes', async (ctx) => {
    const { pcap, ledgers, connections, verify } = await run(ctx, '127.0.0.1', GOES_AWAY);
    expect(ledgers).toMatchObject([{ outcome: 'client_closed', teardown: { first: 'client_rst' } }]);
    expect(connections[0]?.first).toEqual({ by: 'client', how: 'rst' });
    expect(await verify('--pcap', pcap)).toMatchObject({ code: 0 });
  });

  it('on every interface at once, which is another link type, and in nanoseconds', async (ctx) => {
    const { pcap, verify } = await run(ctx, '127.0.0.1', {
      options: { sequence: ['partial_disconnect'] },
      act: (_, url) => ask(url),
      tcpdump: ['-i', 'any', '--time-stamp-precision=nano'],
    });
    expect(readPackets(await readFile(pcap), pcap)[0]?.linkType).not.toBe(1);
    expect(await verify('--pcap', pcap)).toMatchObject({ code: 0 });
  });

  it('packets that were captured without their ends: numbers and flags are checked', async (ctx) => {
    const { pcap, verify } = await run(ctx, '127.0.0.1', {
      options: { sequence: ['partial_disconnect'] },
      act: (_, url) => ask(url),
      tcpdump: ['-s', '80'],
    });
    const { code, out } = await verify('--pcap', pcap, '--json');
    expect(JSON.parse(out)).toMatchObject({ verdicts: [{ compared: 'length', differences: [] }] });
    expect(code).toBe(0);
  });
});

/** Most of an answer is still in the server's hands when its client goes without having read. */
const GOES_AWAY: Plan = {
  options: { successText: 'x'.repeat(8_000_000), chunkSize: 1_000_000, settleTimeoutMs: 1 },
  act: (server, url) => {
    const closing = new AbortController();
    const gone = witness({
      ...addressOf(url),
      url: url.href,
      request: requestBytes({ url, body: BODY }),
      pauseAtBytes: 1000,
      signal: closing.signal,
      onSegment: (_, received) => {
        if (received === 1000) closing.abort();
      },
    });
    return Promise.all([gone, server.results(1)]);
  },
};

type Tamper = (ledger: Ledger) => Ledger;

const counted = ({ bytes, ...rest }: Ledger, by: number): Ledger => {
  const { written, flushed, acked, read } = bytes;
  const moved = (count: number | null): number | null => count && count + by;
  return { ...rest, bytes: { written: written + by, flushed: flushed + by, acked: moved(acked), read: moved(read) } };
};

const TAMPERS: Readonly<Record<string, Tamper>> = {
  'acked raised': (ledger) => ({ ...ledger, bytes: { ...ledger.bytes, acked: (ledger.bytes.acked ?? 0) + 1 } }),
  'a byte more in every count': (ledger) => counted(ledger, 1),
  'a byte less in every count': (ledger) => counted(ledger, -1),
  'a byte more in every count, and in the plan': (ledger) => {
    const { cut, plan, ...rest } = counted(ledger, 1);
    const longer = { ...plan, bytes: plan.bytes + 1 };
    return { ...rest, plan: longer, cut: cut && { ...cut, offset: cut.offset + 1 } };
  },
  'another teardown': (ledger) => ({
    ...ledger,
    teardown: { ...ledger.teardown, kind: ledger.teardown.kind === 'rst' ? 'keep_alive' : 'rst' },
  }),
  'the bytes of another plan': (ledger) => {
    const sha256 = 'f'.repeat(64);
    return { ...ledger, plan: { ...ledger.plan, sha256, writtenSha256: sha256 } };
  },
};

describe.skipIf(!tcpdumpInstalled)(`a tampered journal${tcpdumpInstalled ? '' : ' (skipped: no tcpdump)'}`, () => {
  for (const behavior of ['success', 'partial_disconnect'] as const) {
    it(`${behavior}: every change is found`, async (ctx) => {
      const { journal, pcap, ledgers, verify } = await run(ctx, '127.0.0.1', {
        options: { sequence: [behavior] },
        act: (_, url) => ask(url),
      });
      expect(await verify('--pcap', pcap)).toMatchObject({ code: 0 });
      for (const [name, tamper] of Object.entries(TAMPERS)) {
        const lines = ledgers.map((ledger) => `${JSON.stringify(tamper(ledger))}\n`);
        await writeFile(journal, lines.join(''));
        const { code, out } = await verify('--pcap', pcap);
        expect({ name, code, out }).toMatchObject({ code: 1, out: expect.stringContaining('differs') });
      }
    });
  }

  it('a client that went is not said to have taken what it never got', async (ctx) => {
    const { journal, pcap, ledgers, verify } = await run(ctx, '127.0.0.1', GOES_AWAY);
    const [ledger] = ledgers;
    if (!ledger) throw new Error('one exchange');
    const all = ledger.bytes.written;
    const bytes = { written: all, flushed: all, acked: all, read: 1000 };
    await writeFile(journal, `${JSON.stringify({ ...ledger, bytes, lost: 0 })}\n`);
    const { code, out } = await verify('--pcap', pcap);
    expect(out).toContain(`fewer than the ${all} that the ledger calls acked`);
    expect(code).toBe(1);
  });

  it('a changed byte of the stored answer is found, with its place', async (ctx) => {
    const { dir, pcap, verify } = await run(ctx, '127.0.0.1', {
      options: { sequence: ['partial_disconnect'] },
      act: (_, url) => ask(url),
    });
    const stored = path.join(dir, 'bytes', '000001.response');
    const bytes = await readFile(stored);
    const at = bytes.indexOf('data: ', bytes.indexOf('data: ') + 1) + 3;
    bytes[at] = 0x21;
    await writeFile(stored, bytes);
    const { code, out } = await verify('--pcap', pcap, '--capture', path.join(dir, 'bytes'));
    expect(code).toBe(1);
    expect(out).toContain(
      `#1 partial_disconnect  differs at byte ${at.toLocaleString('en-US')}, event:2+3: the capture has`,
    );
  });
});

const tsharkInstalled = spawnSync('tshark', ['--version']).status === 0;

describe.skipIf(!tsharkInstalled)(`opened by tshark${tsharkInstalled ? '' : ' (skipped: not installed)'}`, () => {
  const FIELDS = ['ip.version', 'ipv6.version', 'tcp.flags', 'tcp.seq', 'tcp.len', 'tcp.checksum.status'];

  for (const host of HOSTS) {
    for (const [behavior, flags] of [
      ['success', ['0x0002', '0x0012', '0x0010']],
      ['partial_disconnect', ['0x0014']],
    ] as const) {
      it(`${host}: ${behavior} written by --pcap-out`, async () => {
        const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-pcap-'));
        onTestFinished(() => rm(dir, { recursive: true }));
        const [journal, bytes, pcap] = ['journal.jsonl', 'bytes', '1.pcap'].map((name) => path.join(dir, name));
        if (!journal || !bytes || !pcap) throw new Error('three names');
        const server = await serve({ host, journal, capture: bytes, sequence: [behavior], chunkDelayMs: 1 });
        const record = await ask(new URL(`${server.baseURL}/v1/chat/completions`));
        await server.idle();
        const args = ['verify', journal, '--capture', bytes, '--exchange', '1', '--pcap-out', pcap];
        expect(await runCommand(addVerifyCommand, args)).toMatchObject({ code: 0 });

        const fields = FIELDS.flatMap((field) => ['-e', field]);
        const prefs = ['-o', 'tcp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE'];
        const read = spawnSync('tshark', ['-r', pcap, ...prefs, '-T', 'fields', '-E', 'separator=,', ...fields]);
        expect(read.status).toBe(0);
        const rows = read.stdout
          .toString()
          .trimEnd()
          .split('\n')
          .map((line) => line.split(','));
        expect(rows.map((row) => row[host === '::1' ? 1 : 0])).toEqual(rows.map(() => (host === '::1' ? '6' : '4')));
        // 1: good.
        expect(rows.map((row) => row[5])).toEqual(rows.map(() => '1'));
        expect(rows.map((row) => row[2])).toEqual(expect.arrayContaining([...flags]));
        const problems = spawnSync('tshark', ['-r', pcap, '-Y', 'tcp.analysis.flags || _ws.malformed']);
        expect(problems.stdout.toString()).toBe('');
        const followed = spawnSync('tshark', ['-r', pcap, '-q', '-z', 'follow,tcp,raw,0']);
        const hex = Buffer.concat(record.segments.map((segment) => segment.bytes)).toString('hex');
        const lines = followed.stdout.toString().split('\n');
        // Lines of the server are indented.
        const answer = lines.filter((line) => line.startsWith('\t')).map((line) => line.trim());
        expect(answer.join('')).toBe(hex);
        // What was written is read again as what it was.
        expect(await runCommand(addVerifyCommand, ['verify', journal, '--pcap', pcap])).toMatchObject({ code: 0 });
      });
    }
  }
});
