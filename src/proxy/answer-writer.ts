import { type BodyForm, frame, type Head, lastChunk } from '../http/framing.js';
import type { Protocol } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import type { Stretch } from '../sse/scanner.js';
import type { AnswerSignals } from './answer-scan.js';
import type { Sink } from './edit-steps.js';
import { chunking, type LiveChunks, type PlacedPart } from './live-chunks.js';
import { eventIn, type LivePart, seenEvent, tellPart } from './live-parts.js';

/**
 * Writes an answer part by part, each in its own chunk where there are chunks, and tells of its bytes as a scanner of
 * them would. The counterpart of `frame`, which has the whole body.
 */
export interface AnswerWriter extends Sink<LivePart> {
  /** Takes what has been written. */
  written(): Buffer;
}

/** Chunks that aren't those of the parts. */
export interface OwnChunks {
  readonly chunks: LiveChunks;
  readonly protocol: Protocol;
  gaveUp(): void;
}

export function answerWriter(head: Head, form: BodyForm, signals: AnswerSignals, own?: OwnChunks): AnswerWriter {
  const chunked = head.framing === 'chunked';
  const sizes = new Map(form.sizes?.map(({ chunk: number, size }) => [number, size]));
  let out: Buffer[] = [];
  let at = 0;
  let chunks = 0;
  let events = 0;
  let ended = false;
  /** The event that reaches over the end of a chunk. */
  let opened: { startBorder: number; stretches: Stretch[] } = { startBorder: 0, stretches: [] };
  const cutting = own && chunked ? chunking(own.chunks, own.protocol, writeOwnChunk, own.gaveUp) : undefined;

  function write(bytes: Buffer): void {
    out.push(bytes);
    at += bytes.length;
  }

  function begin(): void {
    const { bytes, marks } = frame(head, [], { ...form, last: 'none' });
    write(bytes);
    const markOf = (kind: Mark['kind']): Mark | undefined => marks.find((mark) => mark.kind === kind);
    for (const mark of marks) if (mark.kind === 'informational') signals.onInformational?.(mark.start, mark.end);
    const [line, headers] = [markOf('status_line'), markOf('headers')];
    signals.onHead?.({
      start: line?.start ?? 0,
      statusLineEnd: line?.end ?? 0,
      end: headers?.end ?? at,
      framing: head.framing,
    });
  }

  function take(part: LivePart): void {
    const { length } = part.bytes;
    // An empty chunk would end the body.
    if (ended || length === 0) return;
    if (cutting) {
      cutting.take(part);
      return;
    }
    if (eventIn(part)) events++;
    if (!chunked) {
      tellPart(signals, part, events, { start: at, chunkStart: at, chunkEnd: at + length });
      write(part.bytes);
      return;
    }
    const { start, dataStart } = writeChunk([part.bytes], length);
    tellPart(signals, part, events, { start: dataStart, chunkStart: start, chunkEnd: at });
  }

  function writeChunk(data: readonly Buffer[], length: number): { start: number; dataStart: number } {
    chunks++;
    const size = sizes.get(chunks) ?? length.toString(16);
    const start = at;
    write(Buffer.from(`${size}${form.extension ?? ''}\r\n`, 'latin1'));
    const dataStart = at;
    signals.onChunk?.({ index: chunks, start, dataStart, dataEnd: dataStart + length });
    for (const bytes of data) write(bytes);
    write(CRLF);
    return { start, dataStart };
  }

  /** A chunk of the body from `from` to `to`, which events may begin in, and end in, or both. */
  function writeOwnChunk(parts: readonly PlacedPart[], from: number, to: number): void {
    const data = parts.map(({ part, start }) =>
      part.bytes.subarray(Math.max(0, from - start), Math.max(0, to - start)),
    );
    const { start: chunkStart, dataStart } = writeChunk(data, to - from);
    signals.onBody?.(Buffer.concat(data), dataStart);
    for (const { part, start } of parts) {
      const mark = eventIn(part);
      if (!mark) continue;
      const [first, last] = [start + mark.start, start + mark.end];
      if (first >= to || last <= from) continue;
      const stretch = {
        start: dataStart + Math.max(first, from) - from,
        bytes: part.bytes.subarray(Math.max(mark.start, from - start), Math.min(mark.end, to - start)),
      };
      if (first >= from) {
        opened = { startBorder: first === from ? chunkStart : stretch.start, stretches: [] };
        signals.onEventStart?.(stretch.start, opened.startBorder);
      }
      opened.stretches.push(stretch);
      if (last > to) continue;
      const end = dataStart + last - from;
      signals.onEvent?.(
        seenEvent(part, mark, {
          ...opened,
          index: ++events,
          start: opened.stretches[0]?.start ?? stretch.start,
          end,
          endBorder: last === to ? at : end,
        }),
      );
    }
  }

  function end(): void {
    if (ended) return;
    ended = true;
    cutting?.end();
    if (chunked) {
      for (const { bytes } of lastChunk(form)) {
        signals.onLastChunk?.(at);
        write(bytes);
      }
    }
    signals.onEnd?.(at);
  }

  begin();
  return {
    take,
    end,
    letGo: () => cutting?.letGo(),
    written: () => {
      const bytes = Buffer.concat(out);
      out = [];
      return bytes;
    },
  };
}

const CRLF = Buffer.from('\r\n');
