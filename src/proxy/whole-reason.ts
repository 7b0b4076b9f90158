import type { FaultSpec } from '../fault/spec.js';
import { wholeChunks } from './live-chunks.js';
import { wholeEdits } from './live-edits.js';
import { needOf } from './live-place.js';

/** Why each layer of a fault needs the whole answer before any of it is sent; `undefined`: it works as the answer passes. */
type Row<Layer extends keyof FaultSpec> = (layer: NonNullable<FaultSpec[Layer]>) => string | undefined;
type Rows = { readonly [Layer in keyof FaultSpec]-?: Row<Layer> };

const passes = (): undefined => undefined;

function unknown(positions: readonly string[]): string | undefined {
  const position = positions.find((at) => needOf(at) === 'whole');
  return position === undefined ? undefined : `position ${position}`;
}

const ROWS: Rows = {
  listen: passes,
  request: passes,
  answer: passes,
  events: (edits) => {
    const why = wholeEdits(edits);
    return why === undefined ? undefined : `events: ${why}`;
  },
  sse: passes,
  splice: (splices) =>
    unknown(splices.map(({ at }) => at)) ??
    // What has been told of bytes that have gone would change: chunks and events reach further than they said.
    (splices.some(({ layer }) => layer === 'wire') ? 'splice of the wire' : undefined),
  encoding: (encoding) => (encoding === 'gzip_half' ? 'encoding gzip_half' : undefined),
  framing: ({ kind, contentLength, chunks = 'event' }) => {
    // Each of these stands before the bytes that it counts.
    if (countsBody(contentLength ?? (kind === 'content_length' ? ['{length}'] : []))) return 'framing: a length';
    const why = wholeChunks(chunks);
    return why === undefined ? undefined : `framing: ${why}`;
  },
  head: passes,
  segments: ({ at = [] }) => unknown(at),
  pace: ({ gates = [], pauses = [] }) => unknown([...gates, ...pauses].map(({ at }) => at)),
  cut: ({ at }) => unknown([at]),
  idle: passes,
};

/** Whether a Content-Length says how long the body is, rightly or by how much not. */
function countsBody(length: NonNullable<NonNullable<FaultSpec['framing']>['contentLength']>): boolean {
  return 'add' in length || length.some((value) => value.includes('{length}'));
}

function reasonOf<Layer extends keyof FaultSpec>(layer: Layer, fault: FaultSpec): string | undefined {
  const value = fault[layer];
  // A layer has a row of its own name.
  const row = ROWS[layer] as Row<Layer>;
  return value === undefined ? undefined : row(value);
}

export function wholeReason(fault: FaultSpec): string | undefined {
  for (const layer of Object.keys(ROWS) as (keyof FaultSpec)[]) {
    const why = reasonOf(layer, fault);
    if (why !== undefined) return why;
  }
  // The event that comes again stands behind the end of the body.
  return fault.pace?.pulse && fault.cut?.teardown === 'eof' ? 'pace.pulse with teardown eof' : undefined;
}
