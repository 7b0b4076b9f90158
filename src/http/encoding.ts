import { constants, crc32, deflateRawSync } from 'node:zlib';
import { type Marked, takeMarked, takeParts } from '../sse/mark.js';
import type { Encoding } from './forms.js';

/**
 * gzip that keeps the parts apart (RFC 1952): each part is deflated by itself and flushed to a byte border, so that
 * an event is whole at the client as soon as its part is, as a provider that flushes after each event sends it.
 */

// Magic, deflate, no flags, no time, no extra flags, Unix.
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
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

/** The parts as one gzip stream. The end of the stream is a part of its own. */
export function gzipped(all: readonly Marked[]): Marked[] {
  // What a cut has emptied leaves no trace: even nothing deflates to five bytes.
  const parts = all.filter((part) => part.bytes.length > 0);
  const body = Buffer.concat(parts.map((part) => part.bytes));
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(body), 0);
  trailer.writeUInt32LE(body.length % 2 ** 32, 4);
  const end = Buffer.concat([...(parts.length === 0 ? [HEADER] : []), FINAL_BLOCK, trailer]);
  return [...parts.map((part, n) => deflated(part, n === 0 ? HEADER : Buffer.alloc(0))), { bytes: end, marks: [] }];
}

const TRAILER_BYTES = 8;
/** Neither a gzip header nor padding (RFC 1952, section 2.2: only another member may follow). */
const EXTRA = Buffer.from('behind the end of the gzip stream');

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
      return gzipped(parts).map((part, n, all) =>
        n === all.length - 1 ? takeMarked(part, part.bytes.length - TRAILER_BYTES) : part,
      );
    case 'gzip_extra':
      return [...gzipped(parts), { bytes: EXTRA, marks: [] }];
    case 'gzip_lie':
      return [...parts];
    default:
      return encoding satisfies never;
  }
}
