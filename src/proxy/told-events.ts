import { patchedEvent } from '../fault/edits.js';
import { contentMarks } from '../sse/content-marks.js';
import type { Protocol, StreamEvent } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { fieldsOf } from '../sse/scanner.js';
import type { SeenEvent } from './answer-scan.js';

/** An upstream's events as they are told again, by an answer that was kept or by one that passes. */

/** `asItWas`: in the upstream's bytes, not in its words. */
export function streamEvent({ name, role, bytes, fields }: SeenEvent, asItWas: boolean): StreamEvent {
  const { event, data } = fields;
  return {
    name,
    role,
    ...(event === undefined ? {} : { event }),
    ...(data === undefined ? {} : { data: () => data }),
    // What has no data is a comment, of which only the bytes are known.
    ...(asItWas || data === undefined ? { raw: bytes } : {}),
  };
}

/** An event that is changed is written anew. */
export function patchedOut(event: StreamEvent, path: string, value: unknown): StreamEvent {
  if (!event.data) return event;
  const { raw: _, ...words } = event;
  return patchedEvent(words, path, value);
}

/** A written event with the marks of its content. `first`: of its stream */
export function withContent(part: Marked, first: boolean, protocol: Protocol): Marked {
  const fields = fieldsOf(part.bytes, first);
  const events = part.marks.filter(({ kind }) => kind === 'event');
  const stretches = [{ start: 0, bytes: part.bytes }];
  const event = { index: 1, bytes: part.bytes, stretches, start: 0, end: part.bytes.length };
  const contents: readonly Mark[] = contentMarks(protocol, event, fields);
  return { bytes: part.bytes, marks: [...events, ...contents] };
}
