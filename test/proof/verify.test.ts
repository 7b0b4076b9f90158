import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addVerifyCommand } from '../../src/commands/verify.js';
import { insideOf } from '../../src/proof/account.js';
import { marksIn } from '../../src/proof/answer-marks.js';
import type { Difference } from '../../src/proof/differences.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { type Sighting, witnessSighting } from '../../src/proof/sighting.js';
import { verify } from '../../src/proof/verify.js';
import { type WitnessRecord, witnessFile } from '../../src/proof/witness-record.js';
import { runCommand } from '../support/command.js';
import { ledgerWith } from './ledgers.js';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;
const EVENTS = ['event: start\ndata: 1\n\n', 'data: two\n\n', 'data: [DONE]\n\n'];
const ANSWER = Buffer.from(`${HEAD}${EVENTS.map(chunk).join('')}0\r\n\r\n`);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A ledger of `ANSWER`, or of its first bytes. */
function ledgerOf(given: Partial<Ledger> = {}, written = ANSWER.length): Ledger {
  const cut = written < ANSWER.length ? { position: 'x', offset: written, inside: 'x' } : null;
  return ledgerWith({
    plan: { sha256: sha256(ANSWER), bytes: ANSWER.length, writtenSha256: sha256(ANSWER.subarray(0, written)) },
    cut,
    bytes: { written, flushed: written, acked: written, read: written },
    ...given,
  });
}

const CLIENT = { address: '127.0.0.1', port: 40_000 };
const SERVER = { address: '127.0.0.1', port: 8000 };
const NO_END = { first: null, serverFinAt: null, serverRst: false, clientFin: false, clientRst: false, unknown: false };
const END = {
  serverRst: { ...NO_END, first: 'server', serverRst: true },
  clientFin: { ...NO_END, first: 'client', clientFin: true },
  clientRst: { ...NO_END, first: 'client', clientRst: true },
  clientFinThenRst: { ...NO_END, first: 'client', clientFin: true, serverRst: true },
} as const;
const serverFin = (serverFinAt: number) => ({ ...NO_END, first: 'server', serverFinAt }) as const;

function captureOf(bytes: Buffer, given: Partial<Sighting> = {}): Sighting {
  return {
    kind: 'capture',
    name: 'a.pcap',
    client: CLIENT,
    server: SERVER,
    startedAtMs: 0,
    bytes,
    sentBytes: bytes.length,
    ackedBytes: bytes.length,
    end: NO_END,
    ...given,
  };
}

/** The differences of the one exchange. */
function differences(ledger: Ledger, sighting: Sighting, answer?: Buffer): readonly Difference[] {
  const report = verify([ledger], [sighting], () => answer);
  expect(report.verdicts).toHaveLength(1);
  expect(report.agrees).toBe(report.verdicts[0]?.differences.length === 0);
  return report.verdicts[0]?.differences ?? [];
}

const firstOf = (...given: Parameters<typeof differences>): Partial<Difference> => differences(...given)[0] ?? {};

describe('where in an answer', () => {
  const inside = (bytes: Buffer, offset: number): string => insideOf({ bytes, marks: marksIn(bytes) }, offset);
  const at = (text: string, more = 0): number => ANSWER.indexOf(text) + more;

  for (const [offset, expected] of [
    [0, 'before the answer'],
    [5, 'status_line:1+5'],
    [at('Content-Type', 3), 'headers:1+3'],
    [HEAD.length, 'after headers:1'],
    [at('\r\nevent: start'), 'chunk_size:1+2'],
    [at('event: start', 16), 'event:1 (start)+16'],
    [at('data: two', 6), 'event:2+6'],
    [at('data: [DONE]', 14), 'chunk:3+17'],
    [at('data: [DONE]', 16), 'after event:3'],
    [at('0\r\n\r\n', 1), 'last_chunk:1+1'],
    [ANSWER.length, 'after last_chunk:1'],
  ] as const) {
    it(`${offset}: ${expected}`, () => {
      expect(inside(ANSWER, offset)).toBe(expected);
      // What the answer would have had behind that place makes no difference.
      if (!/^after|^last_chunk/.test(expected)) expect(inside(ANSWER.subarray(0, offset), offset)).toBe(expected);
    });
  }

  it('half a name is none', () => {
    for (const length of [3, 10, 12]) {
      const cut = ANSWER.subarray(0, at('event: start', length));
      expect(inside(cut, cut.length)).toBe(`event:1+${length}`);
    }
  });

  it('events that know nothing of the borders of chunks', () => {
    const text = EVENTS.join('');
    const split = Buffer.from(`${HEAD}${chunk(text.slice(0, 5))}${chunk(text.slice(5, 30))}${chunk(text.slice(30))}`);
    const named = marksIn(split).filter(({ kind }) => kind === 'event');
    expect(
      named.map(({ start, end }) => split.toString('latin1', start, end).replaceAll(/\r\n[0-9a-f]+\r\n/g, '')),
    ).toEqual(EVENTS);
  });

  it('a JSON body, a compressed stream and half a head have no events', () => {
    const json = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
    expect(inside(json, json.length - 1)).toBe('between marks');
    const gzip = Buffer.from(ANSWER.toString().replace('Transfer', 'Content-Encoding: gzip\r\nTransfer'));
    expect(marksIn(gzip).filter(({ kind }) => kind === 'event')).toEqual([]);
    for (let length = 0; length < HEAD.length; length++) {
      expect(marksIn(ANSWER.subarray(0, length)).filter(({ kind }) => kind === 'event')).toEqual([]);
    }
  });
});

describe('bytes', () => {
  const changed = Buffer.from(ANSWER);
  changed.write('x', ANSWER.indexOf('two'));

  it('all of them, with and without the stored answer', () => {
    expect(differences(ledgerOf(), captureOf(ANSWER, { end: serverFin(ANSWER.length) }), ANSWER)).toEqual([]);
    expect(differences(ledgerOf(), captureOf(ANSWER))).toEqual([]);
  });

  it('the first difference is an offset and a mark', () => {
    expect(firstOf(ledgerOf(), captureOf(changed), ANSWER)).toEqual({
      about: 'bytes',
      message: 'the capture has 0x78, the answer 0x74',
      offset: ANSWER.indexOf('two'),
      mark: 'event:2+6',
    });
  });

  it('without the stored answer the SHA-256 tells that there is one', () => {
    expect(firstOf(ledgerOf(), captureOf(changed))).toMatchObject({ about: 'bytes', offset: null, mark: null });
  });

  it('a stored answer has to be that of the plan, and as long as what was flushed', () => {
    expect(firstOf(ledgerOf(), captureOf(changed), changed).message).toBe(
      'the stored answer is not what the plan has (SHA-256)',
    );
    expect(firstOf(ledgerOf(), captureOf(ANSWER), ANSWER.subarray(0, 90))).toMatchObject({
      offset: 90,
      mark: expect.any(String),
    });
  });

  it('keep-alives that go beyond the plan are compared with what was stored', () => {
    const more = Buffer.concat([ANSWER.subarray(0, -5), Buffer.from(chunk(': ping\n\n').repeat(9))]);
    const bytes = { written: more.length, flushed: more.length, acked: more.length, read: more.length };
    const plan = { sha256: sha256(ANSWER), bytes: ANSWER.length, writtenSha256: null };
    const ledger = ledgerOf({ plan, bytes, outcome: 'stalled', teardown: { kind: 'stall', first: 'client_fin' } });
    expect(differences(ledger, captureOf(more, { end: END.clientFin }), more)).toEqual([]);
    const other = Buffer.from(more);
    other[more.length - 5] = 0;
    expect(firstOf(ledger, captureOf(other, { end: END.clientFin }), more)).toMatchObject({ offset: more.length - 5 });
  });
});

describe('length', () => {
  const partial = (bytes: Partial<Ledger['bytes']>): Ledger => {
    const all = { written: 140, flushed: 120, acked: 100, read: 90, ...bytes };
    const lost = all.acked === null ? null : all.written - all.acked;
    return ledgerOf(
      { bytes: all, lost, outcome: 'client_closed', teardown: { kind: 'none', first: 'client_rst' } },
      140,
    );
  };
  const seen = (length: number, given: Partial<Sighting> = {}): Sighting =>
    captureOf(ANSWER.subarray(0, length), { end: END.clientRst, ...given });

  it('from acked to flushed all is well', () => {
    for (const length of [100, 110, 120]) expect(differences(partial({}), seen(length))).toEqual([]);
  });

  it('more than flushed, less than acked, less acknowledged than acked', () => {
    expect(firstOf(partial({}), seen(121))).toMatchObject({
      about: 'length',
      offset: 120,
      message: 'the capture has 121 bytes, 1 more than were flushed',
    });
    expect(firstOf(partial({}), seen(99))).toMatchObject({ about: 'length', offset: 99 });
    expect(firstOf(partial({}), seen(110, { ackedBytes: 99 }))).toMatchObject({
      about: 'length',
      offset: 99,
      message: 'the client acknowledged 99 bytes on the wire, fewer than the 100 that the ledger calls acked',
    });
    // Read, but not acknowledged yet.
    expect(differences(partial({ read: 100 }), seen(110, { ackedBytes: 99 }))).toEqual([]);
    // A capture that lost packets doesn't know.
    expect(differences(partial({}), seen(110, { ackedBytes: null }))).toEqual([]);
  });

  it('a witness has to have what it has read; what its kernel acknowledged only where it saw the end', () => {
    const witnessed = (length: number, end = END.clientRst as Sighting['end']): Sighting =>
      seen(length, { kind: 'witness', ackedBytes: null, end });
    expect(differences(partial({}), witnessed(90))).toEqual([]);
    expect(firstOf(partial({}), witnessed(89)).message).toContain('fewer than the 90 that the ledger calls read');
    expect(differences(partial({ read: null }), witnessed(1))).toEqual([]);
    const reset = { ...partial({ read: null }), teardown: { kind: 'rst', first: 'server' } } as const;
    expect(firstOf(reset, witnessed(99, END.serverRst)).message).toContain(
      'fewer than the 100 that the ledger calls acked',
    );
  });

  it('behind a FIN nothing is missing', () => {
    expect(
      firstOf(
        ledgerOf({ bytes: { ...ledgerOf().bytes, acked: null, read: null }, lost: null }),
        captureOf(ANSWER.subarray(0, 120), { end: serverFin(120) }),
      ),
    ).toMatchObject({ about: 'length', offset: 120 });
  });

  it('packets whose content was not captured still count', () => {
    const report = verify([ledgerOf()], [captureOf(ANSWER.subarray(0, 9), { sentBytes: ANSWER.length })], () => ANSWER);
    expect(report.verdicts).toMatchObject([{ compared: 'length', seenBytes: ANSWER.length, differences: [] }]);
    expect(firstOf(ledgerOf(), captureOf(ANSWER.subarray(0, 9), { sentBytes: ANSWER.length + 1 }))).toMatchObject({
      about: 'length',
    });
  });

  it('an answer without a ledger may follow a whole one, and only there', () => {
    const more = Buffer.concat([ANSWER, Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]);
    expect(differences(ledgerOf(), captureOf(more, { end: serverFin(more.length) }), ANSWER)).toEqual([]);
    const reset = ledgerOf({ outcome: 'reset', teardown: { kind: 'rst', first: 'server' } });
    expect(firstOf(reset, captureOf(more, { end: END.serverRst }))).toMatchObject({ offset: ANSWER.length });
  });
});

describe('a ledger that contradicts itself', () => {
  const whole = ledgerOf().bytes;
  const n = ANSWER.length;
  const rows: Readonly<Record<string, Partial<Ledger>>> = {
    'flushed of': { bytes: { ...whole, flushed: n + 1 } },
    'acked of': { bytes: { ...whole, acked: n + 1 }, lost: -1 },
    'read of': { bytes: { ...whole, read: n + 1 } },
    'lost of': { lost: 1 },
    'written of a plan of': { bytes: { written: n + 1, flushed: n, acked: n, read: n }, lost: 1 },
    'with another SHA-256': { plan: { ...ledgerOf().plan, sha256: 'f'.repeat(64) } },
    'bytes written where': { cut: { position: 'x', offset: 5, inside: 'x' } },
  };
  for (const [message, given] of Object.entries(rows)) {
    it(message, () => {
      expect(firstOf(ledgerOf(given), captureOf(ANSWER))).toEqual({
        about: 'ledger',
        message: expect.stringContaining(message),
        offset: null,
        mark: null,
      });
    });
  }
});

describe('teardown', () => {
  const ledger = (kind: string, first: Ledger['teardown']['first']): Ledger =>
    ledgerOf({ teardown: { kind, first }, outcome: kind === 'rst' ? 'reset' : 'completed' });
  const FIN = serverFin(ANSWER.length);
  const bothFins = { ...FIN, first: 'client', clientFin: true } as const;
  const rows: readonly (readonly [string, Ledger['teardown']['first'], Sighting['end'], string])[] = [
    ['rst', 'server', END.serverRst, ''],
    ['rst', 'client_fin', END.clientFinThenRst, ''],
    // The client had shut its sending side before; it was the reset that ended the connection.
    ['rst', 'server', END.clientFinThenRst, ''],
    ['rst', 'client_rst', END.clientRst, ''],
    ['rst', 'server', FIN, 'the ledger says rst, but the server sent a FIN'],
    ['rst', 'server', NO_END, 'the ledger says rst, but the server sent no RST'],
    ['rst', 'server', END.clientRst, 'the ledger says the server was first, on the wire the client was'],
    ['rst', 'client_rst', END.serverRst, 'the ledger says client_rst was first, on the wire the server was'],
    ['keep_alive', null, NO_END, ''],
    ['keep_alive', null, FIN, ''],
    ['keep_alive', 'server', FIN, ''],
    // Two FINs that cross.
    ['keep_alive', 'server', bothFins, ''],
    ['eof', 'client_fin', END.clientFin, ''],
    ['keep_alive', null, END.serverRst, 'the ledger says keep_alive, but the server sent a RST'],
    ['eof', 'server', END.serverRst, 'the ledger says eof, but the server sent a RST'],
    ['stall', 'client_fin', END.clientFin, ''],
    ['stall', 'client_rst', END.clientRst, ''],
    ['stall', 'server', FIN, ''],
    ['stall', 'server', bothFins, 'the ledger says the server was first, on the wire the client was'],
    ['stall', 'client_fin', FIN, 'the ledger says client_fin was first, on the wire the server was'],
    ['stall', 'client_fin', END.clientRst, 'the ledger says client_fin, but the client sent none'],
    ['stall', 'client_rst', END.clientFin, 'the ledger says client_rst, but the client sent none'],
    ['rst_now', 'server', END.serverRst, ''],
    ['rst_now', 'server', FIN, 'the ledger says rst_now, but the server sent a FIN'],
    ['fin', 'server', FIN, ''],
    ['half_close', 'server', FIN, ''],
    ['half_close', 'server', NO_END, 'the ledger says half_close, but the server sent no FIN'],
    ['fin', 'server', END.serverRst, 'the ledger says fin, but the server sent a RST'],
    ['none', 'client_fin', NO_END, 'the ledger says client_fin was first, on the wire nobody was'],
    ['none', 'server', END.serverRst, 'the ledger says none, but the server sent a RST'],
  ];
  for (const [kind, first, end, message] of rows) {
    it(`${kind}, first ${first}, seen ${JSON.stringify(end)}: ${message || 'agrees'}`, () => {
      const found = differences(ledger(kind, first), captureOf(ANSWER, { end }));
      expect(found.map((difference) => difference.message)).toEqual(message ? [message] : []);
    });
  }

  it('an end that was not watched is not judged', () => {
    const unknown = { ...END.clientFin, unknown: true };
    expect(differences(ledger('rst', 'server'), captureOf(ANSWER, { end: unknown }))).toEqual([]);
  });
});

describe('whose connection', () => {
  it('exchanges that share one are looked for at their offsets', () => {
    const first = ledgerOf({ teardown: { kind: 'keep_alive', first: null } });
    const second = { ...first, exchange: 2, onConnection: 2, connectionOffset: ANSWER.length };
    const twice = Buffer.concat([ANSWER, ANSWER]);
    const both = verify([second, first], [captureOf(twice)], () => ANSWER);
    expect(both.verdicts).toMatchObject([
      { exchange: 1, differences: [] },
      { exchange: 2, differences: [] },
    ]);
    twice.write('x', ANSWER.length + ANSWER.indexOf('two'));
    expect(verify([first, second], [captureOf(twice)], () => ANSWER).verdicts).toMatchObject([
      { differences: [] },
      { differences: [{ offset: ANSWER.indexOf('two'), mark: 'event:2+6' }] },
    ]);
    const reset = { ...first, teardown: { kind: 'rst', first: 'server' }, outcome: 'reset' } as const;
    expect(
      verify([reset, second], [captureOf(Buffer.concat([ANSWER, ANSWER]))], () => ANSWER).verdicts[0],
    ).toMatchObject({
      differences: [{ message: 'the ledger says rst, but the connection went on' }],
    });
  });

  it('a port that was used again belongs to the connection that began after it was seen', () => {
    const at = (second: number, exchange: number): Ledger => {
      const { times } = ledgerOf();
      return ledgerOf({
        exchange,
        connection: exchange,
        times: { ...times, requestAt: `2026-01-01T00:00:${second}.000Z` },
      });
    };
    const seenAt = (second: number): Sighting =>
      captureOf(ANSWER, { name: `at ${second}`, startedAtMs: Date.parse(`2026-01-01T00:00:${second}.000Z`) });
    const { verdicts, unseen } = verify([at(10, 1), at(30, 2), at(50, 3)], [seenAt(50), seenAt(30)], () => undefined);
    expect(verdicts.map(({ exchange, against }) => [exchange, against])).toEqual([
      [2, 'at 30'],
      [3, 'at 50'],
    ]);
    expect(unseen).toEqual([1]);
  });

  it('a mapped address is that of an IPv4 socket; another address or port is a stranger', () => {
    const mapped = ledgerOf({ client: { address: '::ffff:127.0.0.1', port: 40_000 } });
    expect(differences(mapped, captureOf(ANSWER))).toEqual([]);
    for (const other of [
      { client: { ...CLIENT, port: 1 } },
      { client: { ...CLIENT, address: '127.0.0.2' } },
      { server: { ...SERVER, port: 1 } },
    ]) {
      const report = verify([ledgerOf()], [captureOf(ANSWER, { kind: 'witness', ...other })], () => undefined);
      expect(report).toEqual({ verdicts: [], unseen: [1], strangers: ['a.pcap'], agrees: false });
    }
  });
});

describe('wirefault verify', () => {
  const record: WitnessRecord = {
    url: 'http://x/',
    local: CLIENT,
    remote: SERVER,
    requestSha256: '',
    halfClose: false,
    startedAt: '2026-01-01T00:00:00.000Z',
    segments: [{ atMs: 1, bytes: ANSWER }],
    end: 'fin',
    stopped: false,
    atMs: 2,
  };

  async function files(
    ledger: Ledger,
    seen: WitnessRecord,
  ): Promise<{ dir: string; journal: string; witness: string }> {
    const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-verify-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const [journal, witness] = [path.join(dir, 'journal'), path.join(dir, 'witness')];
    await writeFile(journal, `${JSON.stringify(ledger)}\n`);
    await writeFile(witness, witnessFile(seen));
    await writeFile(path.join(dir, '000001.response'), ANSWER);
    return { dir, journal, witness };
  }

  it('tells the first difference with its place', async () => {
    const bytes = Buffer.from(ANSWER);
    bytes.write('x', ANSWER.indexOf('two'));
    const { dir, journal, witness } = await files(ledgerOf(), { ...record, segments: [{ atMs: 1, bytes }] });
    const args = ['verify', journal, '--witness', witness, '--capture', dir];
    expect(await runCommand(addVerifyCommand, args)).toEqual({
      code: 1,
      out: `#1 success  differs at byte ${ANSWER.indexOf('two')}, event:2+6: the witness has 0x78, the answer 0x74\n1 exchange with differences\n`,
      err: '',
    });
  });

  it('nothing seen is not agreement, and a witness of another connection is named', async () => {
    const { journal, witness } = await files(ledgerOf(), { ...record, local: { ...CLIENT, port: 1 } });
    expect(await runCommand(addVerifyCommand, ['verify', journal, '--witness', witness])).toMatchObject({
      code: 1,
      out: `${witness}: its connection is not in the journal\nnothing verified: no connection of the journal was seen, 1 exchange of the journal not seen\n`,
    });
  });

  it('a refused witness had no connection', () => {
    const refused = { ...record, local: { address: null, port: null }, segments: [], end: 'refused' } as const;
    expect(witnessSighting(refused, 'x')).toBeUndefined();
  });

  it('what is not allowed is said, with what is', async () => {
    const { dir, journal, witness } = await files(ledgerOf(), record);
    const seen = ['--witness', witness];
    for (const [args, code, message] of [
      [[journal], 2, 'verify: nothing to check against; expected --witness FILE or --pcap FILE'],
      [[], 2, "missing required argument 'journal'"],
      [
        [journal, ...seen, '--exchange', '0'],
        2,
        '--exchange: "0" is not allowed; expected a whole number of at least 1',
      ],
      [[journal, '--pcap-out', 'x', '--capture', dir], 2, '--pcap-out: has no meaning without --exchange'],
      [[journal, '--pcap-out', 'x', '--exchange', '1'], 2, '--pcap-out: needs the bytes that --capture has'],
      [[journal, ...seen, '--capture', witness], 2, 'expected a folder'],
      [[journal, ...seen, '--exchange', '9'], 1, 'verify: exchange 9 is not among those of'],
      [[journal, '--capture', dir, '--exchange', '1', '--pcap-out', 'x'], 1, "doesn't have exchange 1"],
      [['/no/such', ...seen], 1, "can't read /no/such"],
      [[witness, ...seen], 1, "can't be read as ledgers"],
      [[journal, '--witness', journal], 1, 'not a line of a witness file'],
      [[journal, '--pcap', journal], 1, 'neither pcap nor pcapng'],
      [[journal, '--pcap', '/no/such'], 1, "--pcap: can't read /no/such: ENOENT"],
    ] as const) {
      const ran = await runCommand(addVerifyCommand, ['verify', ...args]);
      expect({ args, ...ran }).toMatchObject({ code, err: expect.stringContaining(message) });
    }
  });
});
