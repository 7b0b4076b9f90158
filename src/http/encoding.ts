import { constants, crc32, deflateRawSync } from 'node:zlib';
import { type Marked, takeMarked, takeParts } from '../sse/mark.js';
import type { Encoding } from './forms.js';

/**
 * gzip that keeps the parts apart (RFC 1952): each part is deflated by itself and flushed to a byte border, so that
 * an event is whole at the client as soon as its part is, as a provider that flushes after each event sends it.
 */

// Magic, deflate, no flags, no time, no extra flags, Unix.
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
/** CRC and length. */
const TRAILER_BYTES = 8;
/** An empty final block with static codes (RFC 1951, section 3.2.6). */
const FINAL_BLOCK = Buffer.from([3, 0]);

/** Marks of whole parts (events) move with them; those inside are lost, since their bytes are. */
function deflated(part: Marked, prefix: Buffer): Marked {
  const bytes = Buffer.concat([prefix, deflateRawSync(part.bytes, { finishFlush: constants.Z_SYNC_FLUSH })]);
  const marks = part.marks
    .filter((mark) => mark.start === 0 && mark.end === part.bytes.length)
    .map((mark) => ({ ...mark, end: bytes.length }));
  return { bytes, marks };
}

/** A gzip stream of parts that come one after the other; none of them is empty. Its end is a part of its own. */
export function gzipper(): { part(part: Marked): Marked; end(): Marked } {
  let crc = 0;
  let length = 0;
  const prefix = (): Buffer => (length === 0 ? HEADER : Buffer.alloc(0));
  return {
    part: (part) => {
      const packed = deflated(part, prefix());
      crc = crc32(part.bytes, crc);
      length += part.bytes.length;
      return packed;
    },
    end: () => {
      const trailer = Buffer.alloc(TRAILER_BYTES);
      trailer.writeUInt32LE(crc, 0);
      trailer.writeUInt32LE(length % 2 ** 32, 4);
      return { bytes: Buffer.concat([prefix(), FINAL_BLOCK, trailer]), marks: [] };
    },
  };
}

/** The parts as one gzip stream. */
export function gzipped(all: readonly Marked[]): Marked[] {
  const stream = gzipper();
  // What a cut has emptied leaves no trace: even nothing deflates to five bytes.
  return [...all.filter((part) => part.bytes.length > 0).map(stream.part), stream.end()];
}

/** Neither a gzip header nor padding (RFC 1952, section 2.2: only another member may follow). */
export const EXTRA: Marked = { bytes: Buffer.from('behind the end of the gzip stream'), marks: [] };

/** The end of a gzip stream without its last bytes. */
export function withoutTrailer(end: Marked): Marked {
  return takeMarked(end, end.bytes.length - TRAILER_BYTES);
}

/** The parts as `encoding` sends them. */
export function encoded(parts: readonly Marked[], encoding: Encoding): Marked[] {
  switch (encoding) {
    case 'gzip':
      return gzipped(parts);
    case 'gzip_half': {
      const all = gzipped(parts);
      return takeParts(all, Math.floor(all.reduce((sum, { bytes }) => sum + bytes.length, 0) / 2));
    }
    case 'gzip_no_trailer':
      return gzipped(parts).map((part, n, all) => (n === all.length - 1 ? withoutTrailer(part) : part));
    case 'gzip_extra':
      return [...gzipped(parts), EXTRA];
    case 'gzip_lie':
      return [...parts];
    default:
      return encoding satisfies never;
  }
}
