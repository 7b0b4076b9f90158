import { inPieces, type SseEvent, type StreamCase } from '../support/stream-case.js';
import { LAUNCHDARKLY } from './launchdarkly-parsing.js';

/** LaunchDarkly's SSE contract tests: six bodies, three line ends, three ways of sending them, and pairs cut in two. */

const SOURCE = 'ssetests/tests_linefeeds.go';

/** A body with `|` for each line end. */
const BODIES: readonly (readonly [name: string, body: string, data: readonly string[]])[] = [
  ['one_event', 'data: event 1||', ['event 1']],
  [
    'one_line_then_two_line_event',
    'data: event 1||data: event 2 line 1|data: event 2 line 2||',
    ['event 1', 'event 2 line 1\nevent 2 line 2'],
  ],
  ['empty_first_data_line', 'data:|data: line2|data: line3||', ['\nline2\nline3']],
  ['empty_middle_data_line', 'data: line1|data:|data: line3||', ['line1\n\nline3']],
  ['one_spare_blank_line', 'data: event 1|||data: event 2||', ['event 1', 'event 2']],
  ['two_spare_blank_lines', 'data: event 1||||data: event 2||', ['event 1', 'event 2']],
];

const LINE_ENDS = { lf: '\n', crlf: '\r\n', cr: '\r' } as const;
type LineEnd = keyof typeof LINE_ENDS;

/** Bytes of a send; pauses of 10 ms are between sends. */
const SIZES = [
  ['whole', undefined],
  ['by_1', 1],
  ['by_2', 2],
] as const;
const GAP_MS = 10;

const events = (data: readonly string[]): SseEvent[] => data.map((one) => ({ data: one }));

/** A CR that ends a line may be the half of a CRLF, and this parser waits for what comes behind it. */
const HELD = 'holds back a last CR, and with it the event, until more comes';

function caseOf(
  end: LineEnd,
  [name, body, data]: (typeof BODIES)[number],
  [way, size]: (typeof SIZES)[number],
): StreamCase {
  const bytes = body.replaceAll('|', LINE_ENDS[end]);
  const segments = size === undefined ? [bytes] : inPieces(bytes, size);
  return {
    id: `${end}_${name}_${way}`,
    family: `${end}_${name}`,
    source: SOURCE,
    connections: [
      { ...LAUNCHDARKLY, segments, expected: events(data), ...(size === undefined ? {} : { gapMs: GAP_MS }) },
    ],
    ...(end === 'cr' ? { parser: heldBack(data), note: HELD } : {}),
  };
}

/** What a parser says that waits behind a last CR. */
function heldBack(data: readonly string[]): string {
  const told = data.slice(0, -1).map((one) => JSON.stringify(one));
  return told.join(', ') || 'nothing';
}

export const LAUNCHDARKLY_LINE_ENDS: readonly StreamCase[] = [
  ...(['lf', 'crlf', 'cr'] as const).flatMap((end) =>
    BODIES.flatMap((body) => SIZES.map((size) => caseOf(end, body, size))),
  ),
  {
    id: 'crlf_pairs_cut_between_cr_and_lf',
    source: SOURCE,
    connections: [
      {
        ...LAUNCHDARKLY,
        segments: ['data: Hello\r', '\ndata: World\r', '\n\r\ndata: OK\r', '\n', '\r', '\n'],
        expected: events(['Hello\nWorld', 'OK']),
      },
    ],
  },
];
