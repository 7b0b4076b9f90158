import { addressBytes } from '../../src/proof/address.js';

/** Packets and capture files made by hand, for the readers of both. Checksums are left out: nobody looks at them. */
export interface Made {
  readonly from: readonly [address: string, port: number];
  readonly to: readonly [address: string, port: number];
  /** Letters of S, A, F, R, P. */
  readonly flags: string;
  readonly sequence: number;
  readonly acknowledgment?: number;
  readonly payload?: string | Buffer;
}

const FLAGS: Readonly<Record<string, number>> = { F: 1, S: 2, R: 4, P: 8, A: 16 };

export function ipPacket({ from, to, flags, sequence, acknowledgment = 0, payload = '' }: Made): Buffer {
  const tcp = Buffer.alloc(20);
  tcp.writeUInt16BE(from[1], 0);
  tcp.writeUInt16BE(to[1], 2);
  tcp.writeUInt32BE(sequence >>> 0, 4);
  tcp.writeUInt32BE(acknowledgment >>> 0, 8);
  tcp.writeUInt8(0x50, 12);
  tcp.writeUInt8(
    [...flags].reduce((sum, letter) => sum | (FLAGS[letter] ?? 0), 0),
    13,
  );
  return ipHeaded(from[0], to[0], Buffer.concat([tcp, Buffer.from(payload)]));
}

function ipHeaded(from: string, to: string, payload: Buffer): Buffer {
  const [source, target] = [addressBytes(from), addressBytes(to)];
  if (!source || !target) throw new Error('two addresses');
  if (source.length === 4) {
    const header = Buffer.alloc(12);
    header.writeUInt8(0x45, 0);
    header.writeUInt16BE(20 + payload.length, 2);
    header.writeUInt8(6, 9);
    return Buffer.concat([header, source, target, payload]);
  }
  const header = Buffer.alloc(8);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(payload.length, 4);
  header.writeUInt8(6, 6);
  return Buffer.concat([header, source, target, payload]);
}

const isIpv6 = (ip: Buffer): boolean => (ip[0] ?? 0) >> 4 === 6;

function typed(bytes: number, typeAt: number, ip: Buffer): Buffer {
  const header = Buffer.alloc(bytes);
  header.writeUInt16BE(isIpv6(ip) ? 0x86dd : 0x0800, typeAt);
  return Buffer.concat([header, ip]);
}

/** The link headers that are read, by their LINKTYPE_ value. */
export const LINKS: Readonly<Record<string, { readonly type: number; wrap(ip: Buffer): Buffer }>> = {
  NULL: { type: 0, wrap: (ip) => Buffer.concat([Buffer.from([isIpv6(ip) ? 30 : 2, 0, 0, 0]), ip]) },
  Ethernet: { type: 1, wrap: (ip) => typed(14, 12, ip) },
  'Ethernet with a VLAN': {
    type: 1,
    wrap: (ip) => {
      const header = Buffer.alloc(18);
      header.writeUInt16BE(0x8100, 12);
      header.writeUInt16BE(isIpv6(ip) ? 0x86dd : 0x0800, 16);
      return Buffer.concat([header, ip]);
    },
  },
  RAW: { type: 101, wrap: (ip) => ip },
  LOOP: { type: 108, wrap: (ip) => Buffer.concat([Buffer.from([0, 0, 0, isIpv6(ip) ? 24 : 2]), ip]) },
  LINUX_SLL: { type: 113, wrap: (ip) => typed(16, 14, ip) },
  LINUX_SLL2: { type: 276, wrap: (ip) => typed(20, 0, ip) },
};

interface Writer {
  u16(value: number): Buffer;
  u32(value: number): Buffer;
}

function writer(littleEndian: boolean): Writer {
  const made = (bytes: number, write: (buffer: Buffer) => void): Buffer => {
    const buffer = Buffer.alloc(bytes);
    write(buffer);
    return buffer;
  };
  return {
    u16: (value) => made(2, (b) => (littleEndian ? b.writeUInt16LE(value) : b.writeUInt16BE(value))),
    u32: (value) => made(4, (b) => (littleEndian ? b.writeUInt32LE(value) : b.writeUInt32BE(value))),
  };
}

/** Two seconds and a half after 1970, for every packet. */
export const MADE_AT_MS = 2500;

export interface Form {
  readonly littleEndian: boolean;
  readonly nanoseconds: boolean;
}

export function pcapFile(linkType: number, packets: readonly Buffer[], { littleEndian, nanoseconds }: Form): Buffer {
  const { u16, u32 } = writer(littleEndian);
  const header = [
    u32(nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4),
    u16(2),
    u16(4),
    u32(0),
    u32(0),
    u32(65_535),
    u32(linkType),
  ];
  const records = packets.flatMap((bytes) => [
    u32(2),
    u32(nanoseconds ? 5e8 : 5e5),
    u32(bytes.length),
    u32(bytes.length),
    bytes,
  ]);
  return Buffer.concat([...header, ...records]);
}

export function pcapngFile(linkType: number, packets: readonly Buffer[], { littleEndian, nanoseconds }: Form): Buffer {
  const { u16, u32 } = writer(littleEndian);
  const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  const block = (type: number, ...parts: Buffer[]): Buffer => {
    const body = padded(Buffer.concat(parts));
    return Buffer.concat([u32(type), u32(body.length + 12), body, u32(body.length + 12)]);
  };
  const resolution = nanoseconds ? [u16(9), u16(1), Buffer.from([9, 0, 0, 0]), u16(0), u16(0)] : [];
  return Buffer.concat([
    block(0x0a0d0d0a, u32(0x1a2b3c4d), u16(1), u16(0), u32(0xffff_ffff), u32(0xffff_ffff)),
    block(1, u16(linkType), u16(0), u32(65_535), ...resolution),
    // Of a kind that nobody here reads.
    block(5, u32(0), u32(0), u32(0)),
    ...packets.map((bytes) => {
      const time = nanoseconds ? 25e8 : 25e5;
      const [high, low] = [Math.floor(time / 2 ** 32), time % 2 ** 32];
      return block(6, u32(0), u32(high), u32(low), u32(bytes.length), u32(bytes.length), bytes);
    }),
  ]);
}
