import { type BodyForm, frame, type Head, lastChunk } from '../http/framing.js';
import type { Mark } from '../sse/mark.js';
import type { AnswerSignals } from './answer-scan.js';
import type { Sink } from './edit-steps.js';
import { type LivePart, tellPart } from './live-parts.js';

/**
 * Writes an answer part by part, each in its own chunk where there are chunks, and tells of its bytes as a scanner of
 * them would. The counterpart of `frame`, which has the whole body.
 */
export interface AnswerWriter extends Sink<LivePart> {
  /** Takes what has been written. */
  written(): Buffer;
  /** The end of the body is written. */
  readonly ended: boolean;
}

export function answerWriter(head: Head, form: BodyForm, signals: AnswerSignals): AnswerWriter {
  const chunked = head.framing === 'chunked';
  const sizes = new Map(form.sizes?.map(({ chunk: number, size }) => [number, size]));
  let out: Buffer[] = [];
  let at = 0;
  let chunks = 0;
  let events = 0;
  let ended = false;

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
    if (part.marks.some(({ kind }) => kind === 'event')) events++;
    if (!chunked) {
      tellPart(signals, part, events, { start: at, chunkStart: at, chunkEnd: at + length });
      write(part.bytes);
      return;
    }
    chunks++;
    const size = sizes.get(chunks) ?? length.toString(16);
    const start = at;
    write(Buffer.from(`${size}${form.extension ?? ''}\r\n`, 'latin1'));
    const dataStart = at;
    signals.onChunk?.({ index: chunks, start, dataStart, dataEnd: dataStart + length });
    write(part.bytes);
    write(CRLF);
    tellPart(signals, part, events, { start: dataStart, chunkStart: start, chunkEnd: at });
  }

  function end(): void {
    if (ended) return;
    ended = true;
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
    letGo: () => {},
    written: () => {
      const bytes = Buffer.concat(out);
      out = [];
      return bytes;
    },
    get ended() {
      return ended;
    },
  };
}

const CRLF = Buffer.from('\r\n');
