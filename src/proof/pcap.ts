import { WirefaultError } from '../errors.js';

/**
 * Packets out of a capture file: pcap in both byte orders, with micro- and nanoseconds, and pcapng
 * (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng). There is no kept-up npm package that reads both without a
 * compiler.
 */
export interface Packet {
  /** Since 1970. */
  readonly atMs: number;
  /** LINKTYPE_ value of the interface that saw it. */
  readonly linkType: number;
  /** As far as they were captured. */
  readonly bytes: Buffer;
}

interface Reader {
  u16(at: number): number;
  u32(at: number): number;
}

function readerOf(file: Buffer, littleEndian: boolean): Reader {
  return littleEndian
    ? { u16: (at) => file.readUInt16LE(at), u32: (at) => file.readUInt32LE(at) }
    : { u16: (at) => file.readUInt16BE(at), u32: (at) => file.readUInt32BE(at) };
}

const PCAP_HEADER_BYTES = 24;
const PCAP_RECORD_BYTES = 16;
/** The first four bytes as they stand in the file. */
const PCAP_MAGICS: Readonly<Record<string, { readonly littleEndian: boolean; readonly unitsPerSecond: number }>> = {
  a1b2c3d4: { littleEndian: false, unitsPerSecond: 1e6 },
  d4c3b2a1: { littleEndian: true, unitsPerSecond: 1e6 },
  a1b23c4d: { littleEndian: false, unitsPerSecond: 1e9 },
  '4d3cb2a1': { littleEndian: true, unitsPerSecond: 1e9 },
};

const SECTION_HEADER = 0x0a0d0d0a;
const INTERFACE_DESCRIPTION = 1;
const SIMPLE_PACKET = 3;
const ENHANCED_PACKET = 6;
const BYTE_ORDER_MAGIC = '1a2b3c4d';
/** What is read of a block before its packet or its options. */
const LEAST_BODY_BYTES: Readonly<Record<number, number>> = {
  [SECTION_HEADER]: 16,
  [INTERFACE_DESCRIPTION]: 8,
  [SIMPLE_PACKET]: 4,
  [ENHANCED_PACKET]: 20,
};
/** Type, length, and the length once more at the end. */
const BLOCK_BYTES = 12;
const OPTION_END = 0;
const OPTION_TSRESOL = 9;
const OPTION_TSOFFSET = 14;

/**
 * The packets in the order of the file. What a capture that was cut off holds of its last packet is left out.
 * @param name of the file, for the message
 * @throws WirefaultError `bad_evidence` where it is neither pcap nor pcapng
 */
export function readPackets(file: Buffer, name: string): Packet[] {
  const magic = file.toString('hex', 0, 4);
  const format = PCAP_MAGICS[magic];
  if (format && file.length >= PCAP_HEADER_BYTES) return pcapPackets(file, format);
  if (magic === '0a0d0d0a') return pcapngPackets(file, name);
  throw new WirefaultError('bad_evidence', `${name}: neither pcap nor pcapng (it begins with ${magic || 'nothing'})`);
}

function pcapPackets(file: Buffer, format: { littleEndian: boolean; unitsPerSecond: number }): Packet[] {
  const { u32 } = readerOf(file, format.littleEndian);
  // The upper bits tell of a frame check sequence.
  const linkType = u32(20) & 0xffff;
  const packets: Packet[] = [];
  for (let at = PCAP_HEADER_BYTES; at + PCAP_RECORD_BYTES <= file.length; ) {
    const start = at + PCAP_RECORD_BYTES;
    const end = start + u32(at + 8);
    if (end > file.length) break;
    const atMs = (u32(at) + u32(at + 4) / format.unitsPerSecond) * 1000;
    packets.push({ atMs, linkType, bytes: file.subarray(start, end) });
    at = end;
  }
  return packets;
}

interface CaptureInterface {
  readonly linkType: number;
  readonly snapBytes: number;
  readonly unitsPerSecond: number;
  readonly offsetSeconds: number;
}

function pcapngPackets(file: Buffer, name: string): Packet[] {
  const packets: Packet[] = [];
  let reader = readerOf(file, true);
  let interfaces: CaptureInterface[] = [];
  for (let at = 0; at + BLOCK_BYTES <= file.length; ) {
    // Each section has a byte order and interfaces of its own. Its type reads the same in both orders.
    if (file.readUInt32BE(at) === SECTION_HEADER) {
      reader = readerOf(file, file.toString('hex', at + 8, at + 12) !== BYTE_ORDER_MAGIC);
      interfaces = [];
    }
    const length = reader.u32(at + 4);
    const type = reader.u32(at);
    if (length < BLOCK_BYTES + (LEAST_BODY_BYTES[type] ?? 0) || length % 4 !== 0) {
      throw new WirefaultError('bad_evidence', `${name}: a pcapng block of ${length} bytes at byte ${at}`);
    }
    if (at + length > file.length) break;
    const block = { at: at + 8, end: at + length - 4 };
    const packet = packetOf(type, block);
    if (packet) packets.push(packet);
    at += length;
  }
  return packets;

  function packetOf(type: number, block: { readonly at: number; readonly end: number }): Packet | undefined {
    switch (type) {
      case INTERFACE_DESCRIPTION:
        interfaces.push(interfaceOf(file, reader, block));
        return undefined;
      case ENHANCED_PACKET: {
        const from = interfaces[reader.u32(block.at)];
        if (!from) return undefined;
        const units = reader.u32(block.at + 4) * 2 ** 32 + reader.u32(block.at + 8);
        const start = block.at + 20;
        const bytes = file.subarray(start, Math.min(block.end, start + reader.u32(block.at + 12)));
        return { atMs: (units / from.unitsPerSecond + from.offsetSeconds) * 1000, linkType: from.linkType, bytes };
      }
      case SIMPLE_PACKET: {
        const [from] = interfaces;
        if (!from) return undefined;
        const start = block.at + 4;
        const length = Math.min(reader.u32(block.at), from.snapBytes || Number.POSITIVE_INFINITY);
        return { atMs: 0, linkType: from.linkType, bytes: file.subarray(start, Math.min(block.end, start + length)) };
      }
      default:
        return undefined;
    }
  }
}

function interfaceOf(file: Buffer, { u16, u32 }: Reader, block: { at: number; end: number }): CaptureInterface {
  let unitsPerSecond = 1e6;
  let offsetSeconds = 0;
  for (let at = block.at + 8; at + 4 <= block.end; ) {
    const code = u16(at);
    const length = u16(at + 2);
    if (code === OPTION_END || at + 4 + length > block.end) break;
    if (code === OPTION_TSRESOL && length === 1) {
      const value = file.readUInt8(at + 4);
      // The top bit says whether it is a power of 2 or of 10.
      unitsPerSecond = value & 0x80 ? 2 ** (value & 0x7f) : 10 ** value;
    }
    // Half of 64 bits is enough for a number of seconds.
    if (code === OPTION_TSOFFSET && length === 8) offsetSeconds = Math.max(u32(at + 4), u32(at + 8));
    at += 4 + Math.ceil(length / 4) * 4;
  }
  return { linkType: u16(block.at), snapBytes: u32(block.at + 4), unitsPerSecond, offsetSeconds };
}
