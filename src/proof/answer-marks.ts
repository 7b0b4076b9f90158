import type { Mark } from '../sse/mark.js';

/**
 * Marks of an answer out of its bytes alone, to say where in it something stands. The answer may end anywhere: what
 * has begun reaches to the end that its framing tells, or beyond the bytes.
 */
const CRLF = '\r\n';
const BEYOND = Number.MAX_SAFE_INTEGER;

/** A stretch of the body, and where it stands in the answer. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

export function marksIn(answer: Buffer): Mark[] {
  if (answer.length === 0) return [];
  const lineEnd = endAfter(answer, CRLF, 0);
  const statusLine: Mark = { kind: 'status_line', index: 1, start: 0, end: lineEnd };
  if (lineEnd > answer.length) return [statusLine];
  // The line end before the empty line belongs to it, so that a head without headers is found too.
  const headEnd = endAfter(answer, CRLF + CRLF, lineEnd - CRLF.length);
  const head: Mark[] = [statusLine, { kind: 'headers', index: 1, start: lineEnd, end: headEnd }];
  if (headEnd > answer.length) return head;
  // With the line end before it, so that the first is found like the others.
  const headers = answer.toString('latin1', lineEnd - CRLF.length, headEnd).toLowerCase();
  const chunked = headers.includes('\r\ntransfer-encoding: chunked');
  const chunks = chunked ? chunksIn(answer, headEnd) : [];
  const body: Stretch[] = chunked
    ? chunks.filter(({ kind }) => kind === 'chunk_data')
    : [{ start: headEnd, end: answer.length }];
  const events = /\r\ncontent-type: text\/event-stream/.test(headers) && !/\r\ncontent-encoding:/.test(headers);
  // Events first: where one fills its chunk, it is the event that something stands in.
  return [...head, ...(events ? eventsIn(answer, body) : []), ...chunks];
}

/** One past the first `text` at or behind `from`. */
function endAfter(bytes: Buffer, text: string, from: number): number {
  const at = bytes.indexOf(text, from, 'latin1');
  return at < 0 ? BEYOND : at + text.length;
}

function chunksIn(answer: Buffer, bodyStart: number): Mark[] {
  const marks: Mark[] = [];
  let at = bodyStart;
  for (let index = 1; at < answer.length; index++) {
    const sizeEnd = endAfter(answer, CRLF, at);
    const size = Number.parseInt(answer.toString('latin1', at, sizeEnd), 16);
    if (sizeEnd > answer.length || Number.isNaN(size)) {
      return [...marks, { kind: 'chunk_size', index, start: at, end: sizeEnd }];
    }
    if (size === 0) return [...marks, { kind: 'last_chunk', index: 1, start: at, end: sizeEnd + CRLF.length }];
    const dataEnd = sizeEnd + size;
    marks.push(
      { kind: 'chunk', index, start: at, end: dataEnd + CRLF.length },
      { kind: 'chunk_size', index, start: at, end: sizeEnd },
      { kind: 'chunk_data', index, start: sizeEnd, end: dataEnd },
    );
    at = dataEnd + CRLF.length;
  }
  return marks;
}

/** Events end at an empty line, wherever the borders of chunks are. */
function eventsIn(answer: Buffer, body: readonly Stretch[]): Mark[] {
  const text = body.map(({ start, end }) => answer.toString('latin1', start, end)).join('');
  const placeOf = placesIn(body);
  // It reaches at least to the end of a chunk that is cut.
  const last = body.at(-1)?.end ?? 0;
  const unfinished = last > answer.length ? last : BEYOND;
  const emptyLine = /\r?\n\r?\n/g;
  const marks: Mark[] = [];
  for (let at = 0; at < text.length; at = emptyLine.lastIndex) {
    const found = emptyLine.exec(text);
    const name = /^event: ?([^\r\n]+)[\r\n]/m.exec(text.slice(at, found ? emptyLine.lastIndex : undefined))?.[1];
    const start = placeOf(at);
    const end = found ? placeOf(emptyLine.lastIndex - 1) + 1 : unfinished;
    marks.push({ kind: 'event', index: marks.length + 1, ...(name ? { name } : {}), start, end });
    if (!found) break;
  }
  return marks;
}

/** Where a byte of the body stands in the answer; asked for in rising order. */
function placesIn(body: readonly Stretch[]): (offset: number) => number {
  let n = 0;
  let before = 0;
  return (offset) => {
    for (; ; n++) {
      const stretch = body[n];
      if (!stretch) return BEYOND;
      const length = stretch.end - stretch.start;
      if (offset < before + length) return stretch.start + offset - before;
      before += length;
    }
  };
}
