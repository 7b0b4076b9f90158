import { type Rows, SUCCESS, turn } from './row.js';

/** Text with characters of two, three and four bytes. */
const MULTI_BYTE = 'mock żółw 回复 👧 recovered';

/** The grammar of event streams (WHATWG HTML, section 9.2.5), its rare ways and its violations. */
export const SSE = {
  eol_cr: { layer: 'sse', meaning: 'lines end in CR', fault: { sse: { eol: 'cr' } } },
  eol_crlf: { layer: 'sse', meaning: 'lines end in CRLF', fault: { sse: { eol: 'crlf' } } },
  eol_mixed: { layer: 'sse', meaning: 'lines end in LF, CR and CRLF by turns', fault: { sse: { eol: 'mixed' } } },
  crlf_split: {
    layer: 'sse',
    meaning: 'lines end in CRLF, each CR and its LF in two segments',
    fault: { sse: { eol: 'crlf' }, segments: { at: ['eol:*.mid'], gapMs: 5 } },
  },
  bom: { layer: 'sse', meaning: 'a byte order mark before the stream', fault: { sse: { bom: 'start' } } },
  bom_split: {
    layer: 'sse',
    meaning: 'a byte order mark in three segments',
    fault: { sse: { bom: 'start' }, segments: { at: ['body:1', 'body:2'] } },
  },
  bom_middle: {
    layer: 'sse',
    meaning: 'a byte order mark before the second event, where it is data',
    fault: { sse: { bom: 'middle' } },
  },
  utf8_split: {
    layer: 'sse',
    meaning: 'each character of several bytes in two segments',
    fault: { answer: turn({ ...SUCCESS, say: MULTI_BYTE }), segments: { at: ['char:*.mid'] } },
  },
  utf8_invalid: {
    layer: 'sse',
    meaning: "a byte in the text that isn't UTF-8",
    fault: { splice: [{ at: 'text:2', hex: 'ff' }] },
  },
  comment_only: {
    layer: 'sse',
    meaning: 'one comment line, and a correct HTTP end',
    fault: {
      events: [
        { op: 'omit', where: {} },
        { op: 'insert', event: { comment: 'keep-alive', name: 'comment', role: 'keepalive' } },
      ],
    },
  },
  comment_flood: {
    layer: 'sse',
    meaning: 'a thousand comment lines before the answer',
    fault: {
      events: [
        {
          op: 'insert',
          event: { comment: 'keep-alive', name: 'comment' },
          before: { nth: 1 },
          times: 1000,
        },
      ],
    },
  },
  data_multi: {
    layer: 'sse',
    meaning: 'the JSON of each event over four data lines',
    fault: { sse: { dataLines: 4 } },
  },
  field_no_colon: {
    layer: 'sse',
    meaning: 'before the text an event of the line "data" alone: empty data',
    fault: { events: [{ op: 'insert', event: { raw: 'data\n\n', name: 'no_colon' }, before: { role: 'delta' } }] },
  },
  field_unknown: {
    layer: 'sse',
    meaning: 'before the text a field that the grammar ignores',
    fault: {
      events: [
        { op: 'insert', event: { raw: 'unknown: field\n\n', name: 'unknown_field' }, before: { role: 'delta' } },
      ],
    },
  },
  no_space: { layer: 'sse', meaning: 'no space behind the colons', fault: { sse: { colonSpace: false } } },
  no_final_blank: {
    layer: 'sse',
    meaning: 'the last event without its blank line, then a correct HTTP end',
    fault: { sse: { end: 'line_end' } },
  },
  huge_line: {
    layer: 'sse',
    meaning: 'a comment line of 2 MiB before the text',
    fault: {
      events: [{ op: 'insert', event: { commentBytes: 2_097_152, name: 'huge_line' }, before: { role: 'delta' } }],
    },
  },
  id_nul: {
    layer: 'sse',
    meaning: 'an id with a NUL in it, which the grammar ignores',
    fault: { events: [{ op: 'insert', event: { id: '7\0', name: 'id_nul' }, before: { role: 'delta' } }] },
  },
  retry_bogus: { layer: 'sse', meaning: 'a retry line that is no number', fault: { sse: { retry: 'soon' } } },
} satisfies Rows;
