import { type Address, segmentOf, type TcpSegment } from './packet.js';
import type { Packet } from './pcap.js';

/** The connections of a capture, with the bytes that went each way and how each ended. */
export interface TcpConnection {
  readonly client: Address;
  readonly server: Address;
  /** Of the first SYN, since 1970. */
  readonly startedAtMs: number;
  /** From the server. */
  readonly toClient: TcpStream;
  /** From the client. */
  readonly toServer: TcpStream;
  /** The first FIN or RST; `null` while the connection is open. */
  readonly first: { readonly by: 'client' | 'server'; readonly how: 'fin' | 'rst' } | null;
}

/** All offsets count from the first byte of the stream. */
export interface TcpStream {
  /** The bytes from the first on, without a hole: what the capture lost or cut off ends them. */
  readonly bytes: Buffer;
  /**
   * Bytes that were sent, retransmissions not counted: as far as packets were seen, or told of by the sequence number
   * of a FIN or RST, or by an acknowledgment.
   */
  readonly sentBytes: number;
  /** The capture has a packet for each of them, and has lost none. */
  readonly complete: boolean;
  /** Bytes that the other side acknowledged. */
  readonly ackedBytes: number;
  /** Where the FIN and the first RST of this side stand. */
  readonly finAt: number | null;
  readonly rstAt: number | null;
}

interface Piece {
  readonly start: number;
  /** On the wire; the capture may have less of it. */
  readonly end: number;
  readonly bytes: Buffer;
}

/** One direction while it is read. */
interface Direction {
  /** The sequence number of the SYN: the first byte has the next one. */
  initial: number | undefined;
  pieces: Piece[];
  sentBytes: number;
  ackedTo: number;
  finAt: number | null;
  rstAt: number | null;
}

interface Conversation {
  readonly client: Address;
  readonly server: Address;
  readonly startedAtMs: number;
  readonly toClient: Direction;
  readonly toServer: Direction;
  first: TcpConnection['first'];
}

function direction(initial?: number): Direction {
  return { initial, pieces: [], sentBytes: 0, ackedTo: 0, finAt: null, rstAt: null };
}

const nameOf = ({ address, port }: Address): string => `${address} ${port}`;

/**
 * In the order of their first packets. A connection whose beginning isn't in the capture is left out: its bytes can't
 * be counted.
 * @throws WirefaultError `bad_evidence` where the capture is of a link that isn't known
 */
export function connectionsIn(packets: Iterable<Packet>): TcpConnection[] {
  const all: Conversation[] = [];
  /** The newest conversation between two addresses, by both of its directions. */
  const open = new Map<string, Conversation>();
  for (const packet of packets) {
    const segment = segmentOf(packet);
    if (!segment) continue;
    const { source, target, flags } = segment;
    const key = `${nameOf(source)} > ${nameOf(target)}`;
    let talk = open.get(key);
    if (flags.syn && !flags.ack && talk?.toServer.initial !== segment.sequence) {
      talk = {
        client: source,
        server: target,
        startedAtMs: segment.atMs,
        toClient: direction(),
        toServer: direction(segment.sequence),
        first: null,
      };
      all.push(talk);
      open.set(key, talk);
      open.set(`${nameOf(target)} > ${nameOf(source)}`, talk);
    }
    if (talk) take(talk, segment);
  }
  return all.map(({ client, server, startedAtMs, toClient, toServer, first }) => ({
    client,
    server,
    startedAtMs,
    toClient: streamOf(toClient),
    toServer: streamOf(toServer),
    first,
  }));
}

function take(talk: Conversation, segment: TcpSegment): void {
  const { flags } = segment;
  const byClient = nameOf(segment.source) === nameOf(talk.client);
  const own = byClient ? talk.toServer : talk.toClient;
  const other = byClient ? talk.toClient : talk.toServer;
  if (flags.syn) own.initial ??= segment.sequence;
  // A SYN that the capture missed is known by what acknowledges it.
  if (flags.ack && !flags.rst) other.initial ??= (segment.acknowledgment - 1) >>> 0;
  if (flags.ack) other.ackedTo = Math.max(other.ackedTo, offsetOf(other, segment.acknowledgment));
  // A SYN takes a number of the sequence itself.
  const start = offsetOf(own, segment.sequence) + (flags.syn ? 1 : 0);
  const end = start + segment.payloadBytes;
  if (segment.payloadBytes > 0 && start >= 0) {
    own.sentBytes = Math.max(own.sentBytes, end);
    own.pieces.push({ start, end, bytes: segment.payload });
  }
  if (flags.fin) own.finAt ??= end;
  if (flags.rst) own.rstAt ??= start;
  if (flags.fin || flags.rst) talk.first ??= { by: byClient ? 'client' : 'server', how: flags.rst ? 'rst' : 'fin' };
}

/** Sequence numbers wrap around after 4 GiB: the nearest offset to where the stream is now is meant. */
function offsetOf(stream: Direction, sequence: number): number {
  if (stream.initial === undefined) return 0;
  const offset = (sequence - stream.initial - 1 - stream.sentBytes) | 0;
  return stream.sentBytes + offset;
}

function streamOf(stream: Direction): TcpStream {
  const pieces = stream.pieces.toSorted((a, b) => a.start - b.start);
  const parts: Buffer[] = [];
  let at = 0;
  let seenTo = 0;
  for (const { start, end, bytes } of pieces) {
    if (start <= seenTo) seenTo = Math.max(seenTo, end);
    if (start > at) continue;
    const fresh = bytes.subarray(at - start);
    parts.push(fresh);
    at += fresh.length;
  }
  // A FIN is acknowledged like a byte.
  const acked = stream.ackedTo - (stream.finAt !== null && stream.ackedTo > stream.finAt ? 1 : 0);
  const sentBytes = Math.max(stream.sentBytes, stream.finAt ?? 0, stream.rstAt ?? 0, acked);
  return {
    bytes: Buffer.concat(parts),
    sentBytes,
    complete: seenTo >= sentBytes,
    ackedBytes: acked,
    finAt: stream.finAt,
    rstAt: stream.rstAt,
  };
}
