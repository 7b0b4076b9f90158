import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { segmentOf } from '../../src/proof/packet.js';
import { readPackets } from '../../src/proof/pcap.js';
import { pcapOf, type RecordedEnd } from '../../src/proof/pcap-writer.js';
import { connectionsIn, type TcpConnection } from '../../src/proof/tcp-streams.js';
import { ipPacket, LINKS, MADE_AT_MS, type Made, pcapFile, pcapngFile } from './packets.js';

const CLIENT = ['127.0.0.1', 40_000] as const;
const SERVER = ['127.0.0.1', 8000] as const;
const RAW = 101;

const FORMS = [true, false].flatMap((littleEndian) =>
  [true, false].map((nanoseconds) => ({
    littleEndian,
    nanoseconds,
    name: `${littleEndian ? 'little' : 'big'}-endian, ${nanoseconds ? 'nano' : 'micro'}seconds`,
  })),
);

const packetsOf = (...made: Made[]) => made.map((one) => ({ atMs: 0, linkType: RAW, bytes: ipPacket(one) }));
const connectionOf = (...made: Made[]): TcpConnection => {
  const [connection] = connectionsIn(packetsOf(...made));
  if (!connection) throw new Error('there is a SYN');
  return connection;
};

describe('capture files', () => {
  const packets = ['one', 'two!', 'three'].map((payload) =>
    ipPacket({ from: CLIENT, to: SERVER, flags: 'PA', sequence: 1, payload }),
  );
  for (const [kind, write] of Object.entries({ pcap: pcapFile, pcapng: pcapngFile })) {
    for (const { name, ...form } of FORMS) {
      const file = write(RAW, packets, form);
      const whole = packets.map((bytes) => ({ atMs: MADE_AT_MS, linkType: RAW, bytes }));

      it(`${kind}, ${name}`, () => expect(readPackets(file, 'x')).toEqual(whole));

      it(`${kind}, ${name}, cut off anywhere: the whole packets are there`, () => {
        for (let length = kind === 'pcap' ? 24 : 28; length < file.length; length++) {
          const read = readPackets(file.subarray(0, length), 'x');
          expect(read).toEqual(whole.slice(0, read.length));
        }
      });
    }
  }

  it('what is neither is refused', () => {
    for (const [bytes, found] of [
      ['GET / HTTP/1.1', '47455420'],
      ['', 'nothing'],
    ] as const) {
      expect(() => readPackets(Buffer.from(bytes), 'my.pcap')).toThrow(
        `my.pcap: neither pcap nor pcapng (it begins with ${found})`,
      );
    }
  });

  it('a broken block of pcapng is named, not waited for', () => {
    const file = pcapngFile(RAW, packets, { littleEndian: true, nanoseconds: false });
    file.writeUInt32LE(0, 28 + 4);
    expect(() => readPackets(file, 'my.pcapng')).toThrow('my.pcapng: a pcapng block of 0 bytes at byte 28');
  });

  it('no bytes make it throw anything but its own error', () => {
    const heads = FORMS.flatMap((form) => [pcapFile(RAW, packets, form), pcapngFile(RAW, packets, form)]);
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(fc.constantFrom(...heads), fc.array(change), fc.nat(), (file, changes, cut) => {
        const broken = Buffer.from(file.subarray(0, cut % file.length));
        for (const [at, value] of changes) if (broken.length > 0) broken[at % broken.length] = value;
        try {
          connectionsIn(readPackets(broken, 'x'));
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: 'bad_evidence' });
        }
      }),
      { numRuns: 5000 },
    );
  });
});

describe('packets', () => {
  for (const [name, link] of Object.entries(LINKS)) {
    for (const [source, target] of [
      ['10.1.2.3', '192.168.0.9'],
      ['2001:db8::1', '::1'],
    ] as const) {
      it(`${name}, from ${source}`, () => {
        const made: Made = { from: [source, 1], to: [target, 2], flags: 'FPA', sequence: 7, acknowledgment: 8 };
        const bytes = link.wrap(ipPacket({ ...made, payload: 'abc' }));
        expect(segmentOf({ atMs: 3, linkType: link.type, bytes })).toEqual({
          atMs: 3,
          source: { address: source, port: 1 },
          target: { address: target, port: 2 },
          sequence: 7,
          acknowledgment: 8,
          flags: { fin: true, syn: false, rst: false, ack: true },
          payload: Buffer.from('abc'),
          payloadBytes: 3,
        });
      });
    }
  }

  it('the padding of a short Ethernet frame is no payload', () => {
    const ip = ipPacket({ from: CLIENT, to: SERVER, flags: 'A', sequence: 1 });
    const bytes = Buffer.concat([LINKS.Ethernet?.wrap(ip) ?? ip, Buffer.alloc(6, 'x')]);
    expect(segmentOf({ atMs: 0, linkType: 1, bytes })).toMatchObject({ payload: Buffer.alloc(0), payloadBytes: 0 });
  });

  it('a packet whose end was not captured still tells its length', () => {
    const ip = ipPacket({ from: CLIENT, to: SERVER, flags: 'A', sequence: 1, payload: 'abcdef' });
    const cut = { atMs: 0, linkType: RAW, bytes: ip.subarray(0, ip.length - 4) };
    expect(segmentOf(cut)).toMatchObject({ payload: Buffer.from('ab'), payloadBytes: 6 });
  });

  it('IPv6 extension headers are stepped over', () => {
    const ip = ipPacket({ from: ['::1', 1], to: ['::2', 2], flags: 'A', sequence: 1, payload: 'abc' });
    const options = Buffer.from([6, 0, 1, 4, 0, 0, 0, 0]);
    const bytes = Buffer.concat([ip.subarray(0, 40), options, ip.subarray(40)]);
    bytes.writeUInt8(60, 6);
    bytes.writeUInt16BE(bytes.length - 40, 4);
    expect(segmentOf({ atMs: 0, linkType: RAW, bytes })).toMatchObject({ payload: Buffer.from('abc') });
  });

  it('a packet of more than 64 KiB, which says that its length is 0', () => {
    const payload = Buffer.alloc(100_000, 'x');
    const header = ipPacket({ from: CLIENT, to: SERVER, flags: 'A', sequence: 1 });
    header.writeUInt16BE(0, 2);
    const bytes = Buffer.concat([header, payload]);
    expect(segmentOf({ atMs: 0, linkType: RAW, bytes })?.payloadBytes).toBe(payload.length);
  });

  it('other protocols, fragments and stumps are left out', () => {
    const ip = ipPacket({ from: CLIENT, to: SERVER, flags: 'A', sequence: 1, payload: 'abc' });
    const changed = (at: number, value: number): Buffer => {
      const bytes = Buffer.from(ip);
      bytes.writeUInt8(value, at);
      return bytes;
    };
    const others = [
      changed(9, 17),
      changed(7, 3),
      changed(6, 0x20),
      changed(0, 0x35),
      ...Array.from(ip.keys(), (n) => ip.subarray(0, Math.min(n, 39))),
    ];
    for (const bytes of others) expect(segmentOf({ atMs: 0, linkType: RAW, bytes })).toBeUndefined();
    const arp = LINKS.Ethernet?.wrap(ip) ?? ip;
    arp.writeUInt16BE(0x0806, 12);
    expect(segmentOf({ atMs: 0, linkType: 1, bytes: arp })).toBeUndefined();
  });

  it('a link that is not known is named, with those that are', () => {
    expect(() => segmentOf({ atMs: 0, linkType: 105, bytes: Buffer.alloc(0) })).toThrow(
      'capture: link type 105 is not known (known: NULL, Ethernet, RAW, LOOP, LINUX_SLL, IPV4, IPV6, LINUX_SLL2)',
    );
  });
});

describe('TCP streams', () => {
  const opened = (initial: { client: number; server: number }): Made[] => [
    { from: CLIENT, to: SERVER, flags: 'S', sequence: initial.client },
    { from: SERVER, to: CLIENT, flags: 'SA', sequence: initial.server, acknowledgment: initial.client + 1 },
    { from: CLIENT, to: SERVER, flags: 'A', sequence: initial.client + 1, acknowledgment: initial.server + 1 },
  ];
  const INITIAL = { client: 100, server: 200 };
  const told = (offset: number, payload: string, flags = 'PA'): Made => ({
    from: SERVER,
    to: CLIENT,
    flags,
    sequence: INITIAL.server + 1 + offset,
    acknowledgment: INITIAL.client + 1,
    payload,
  });
  const acked = (offset: number, flags = 'A'): Made => ({
    from: CLIENT,
    to: SERVER,
    flags,
    sequence: INITIAL.client + 1,
    acknowledgment: INITIAL.server + 1 + offset,
  });

  it('bytes in any order, more than once, in pieces that overlap', () => {
    const text = 'abcdefghijklmnopqrstuvwxyz';
    const piece = fc.tuple(fc.nat(25), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(fc.array(piece), fc.nat(), (extra, seed) => {
        const cuts = [[0, 9], [9, 9], [18, 8], ...extra] as const;
        const order = cuts.map((cut, n) => ({ cut, key: Math.imul(n + 1, seed | 1) >>> 0 }));
        const pieces = order
          .toSorted((a, b) => a.key - b.key)
          .map(({ cut: [at, n] }) => told(at, text.slice(at, at + n)));
        const { toClient } = connectionOf(...opened(INITIAL), ...pieces);
        expect(toClient).toMatchObject({ bytes: Buffer.from(text), sentBytes: 26 });
      }),
    );
  });

  it('a hole ends the bytes, not their count', () => {
    const { toClient } = connectionOf(...opened(INITIAL), told(0, 'abc'), told(6, 'ghi'), acked(9));
    const rest = { sentBytes: 9, ackedBytes: 9, finAt: null, rstAt: null };
    expect(toClient).toEqual({ bytes: Buffer.from('abc'), complete: false, ...rest });
  });

  it('what the capture lost at the end is told by acknowledgments, and by the number of a FIN or RST', () => {
    for (const last of [acked(9), told(9, '', 'FA'), told(9, '', 'RA')]) {
      const { toClient } = connectionOf(...opened(INITIAL), told(0, 'abc'), last);
      expect(toClient).toMatchObject({ bytes: Buffer.from('abc'), sentBytes: 9, complete: false });
    }
  });

  it('sequence numbers that wrap around', () => {
    const initial = { client: 100, server: 2 ** 32 - 3 };
    const at = (offset: number): number => (initial.server + 1 + offset) % 2 ** 32;
    const part = { from: SERVER, to: CLIENT, flags: 'PA', acknowledgment: 101 };
    const { toClient } = connectionOf(
      ...opened(initial),
      { ...part, sequence: at(0), payload: 'abcd' },
      { ...part, sequence: at(4), payload: 'efgh', flags: 'FPA' },
      { from: CLIENT, to: SERVER, flags: 'A', sequence: 101, acknowledgment: at(9) },
    );
    const rest = { sentBytes: 8, ackedBytes: 8, finAt: 8, rstAt: null };
    expect(toClient).toEqual({ bytes: Buffer.from('abcdefgh'), complete: true, ...rest });
  });

  for (const [name, packets, first, ends] of [
    ['nobody', [told(0, 'abc')], null, {}],
    ['a FIN of the server', [told(0, 'abc', 'FPA'), acked(4, 'FA')], { by: 'server', how: 'fin' }, { finAt: 3 }],
    ['a RST of the server', [told(0, 'abc'), acked(3), told(3, '', 'RA')], { by: 'server', how: 'rst' }, { rstAt: 3 }],
    ['a FIN of the client', [acked(0, 'FA'), told(0, 'abc', 'R')], { by: 'client', how: 'fin' }, { rstAt: 0 }],
    ['a RST of the client', [told(0, 'abc'), acked(1, 'RA')], { by: 'client', how: 'rst' }, { ackedBytes: 1 }],
  ] as const) {
    it(`ended first by ${name}`, () => {
      const connection = connectionOf(...opened(INITIAL), ...packets);
      expect(connection.first).toEqual(first);
      expect(connection.toClient).toMatchObject(ends);
    });
  }

  it('a port that is used again, a SYN that came twice, and a connection without a beginning', () => {
    const again = opened({ client: 5000, server: 6000 });
    const [syn] = opened(INITIAL);
    if (!syn) throw new Error('three packets');
    const stray: Made = { ...told(0, 'middle'), from: ['127.0.0.1', 9], to: CLIENT };
    const all = connectionsIn(packetsOf(stray, syn, ...opened(INITIAL), told(0, 'one', 'RA'), ...again));
    expect(all.map(({ toClient }) => toClient.bytes.toString())).toEqual(['one', '']);
  });
});

describe('an exchange as a capture', () => {
  const request = { atMs: 1_000_000_000_123.456, bytes: Buffer.from('POST / HTTP/1.1\r\n\r\n') };
  const response = ['x'.repeat(5000), '', 'y'].map((text, n) => ({
    atMs: 1_000_000_000_200 + n,
    bytes: Buffer.from(text),
  }));

  for (const [client, server] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['::ffff:10.0.0.1', '10.0.0.2'],
  ] as const) {
    for (const [end, first] of Object.entries({
      server_rst: { by: 'server', how: 'rst' },
      server_fin: { by: 'server', how: 'fin' },
      client_rst: { by: 'client', how: 'rst' },
      client_fin: { by: 'client', how: 'fin' },
      open: null,
    })) {
      it(`from ${client}, ${end}: is read as what it was`, () => {
        const file = pcapOf({
          client: { address: client, port: 40_000 },
          server: { address: server, port: 8000 },
          request,
          response,
          end: end as RecordedEnd,
          endAtMs: 1_000_000_000_300,
        });
        const connections = connectionsIn(readPackets(file, 'x'));
        expect(connections).toMatchObject([
          {
            client: { address: client.replace('::ffff:', ''), port: 40_000 },
            server: { address: server, port: 8000 },
            startedAtMs: request.atMs,
            toServer: { bytes: request.bytes, ackedBytes: request.bytes.length },
            toClient: { bytes: Buffer.from(`${'x'.repeat(5000)}y`), sentBytes: 5001, ackedBytes: 5001 },
            first,
          },
        ]);
      });
    }
  }
});
