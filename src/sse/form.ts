import { z } from 'zod';

/**
 * The form of an event stream: which of the ways of writing it that the grammar allows (WHATWG HTML, section 9.2.5
 * "Parsing an event stream"), or forbids, is taken. Events are the same in each form.
 */
export const SSE_EOLS = ['lf', 'crlf', 'cr', 'mixed'] as const;

export const sseFormSchema = z
  .strictObject({
    eol: z.enum(SSE_EOLS).optional().describe('line ends; mixed: LF, CR and CRLF take turns. Default lf'),
    colonSpace: z.boolean().optional().describe('one space after the colon of a field. Default true'),
    bom: z
      .enum(['start', 'twice', 'middle'])
      .optional()
      .describe('a byte order mark before the stream; two of them, of which the second is data; or before event 2'),
    dataLines: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe('data lines of an event: its JSON is broken between members, which leaves its meaning. Default 1'),
    ids: z.boolean().optional().describe('an id line in each event, counting from 1'),
    retry: z.string().optional().describe('the value of a retry line in the first event'),
    padToBytes: z
      .int()
      .min(1)
      .max(16_777_216)
      .optional()
      .describe('each shorter event gets a comment line that makes it so long'),
    end: z
      .enum(['blank_line', 'line_end', 'nothing'])
      .optional()
      .describe('what stands behind the last data line. Default blank_line, without which it is no event'),
  })
  .readonly();

export type SseForm = z.infer<typeof sseFormSchema>;

const EOLS: Readonly<Record<(typeof SSE_EOLS)[number], readonly string[]>> = {
  lf: ['\n'],
  crlf: ['\r\n'],
  cr: ['\r'],
  // No CR comes right before a LF: where a line is empty, the two would be one line end.
  mixed: ['\n', '\r', '\r\n'],
};

export const BOM = '\ufeff';

/** What the lines of events are joined with; `mixed` goes on over the whole stream. */
export function lineEnder({ eol = 'lf' }: SseForm): () => string {
  const all = EOLS[eol];
  let at = 0;
  return () => all[at++ % all.length] ?? '\n';
}

/** A character of JSON text outside of its strings after which white space may stand, or a whole string. */
const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[,[{]/g;

/** `[DONE]` looks like JSON at first sight. */
function isJson(text: string): boolean {
  if (!/^[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** `data` in at most `count` lines: JSON is broken behind commas and brackets, anything else not at all. */
export function dataLines(data: string, count: number): string[] {
  if (count <= 1 || !isJson(data)) return data.split('\n');
  const breaks = Array.from(data.matchAll(JSON_TOKEN), (token) => ({
    end: token.index + token[0].length,
    text: token[0],
  }))
    .filter(({ text }) => !text.startsWith('"'))
    .map(({ end }) => end);
  const step = breaks.length / (count - 1);
  const chosen =
    count - 1 >= breaks.length
      ? breaks
      : Array.from({ length: count - 1 }, (_, n) => breaks[Math.floor(n * step)] ?? 0);
  const lines = [0, ...chosen].map((start, n) => data.slice(start, chosen[n] ?? data.length));
  return lines.flatMap((line) => line.split('\n'));
}

/** A comment line that makes an event of `bytes` as long as it shall be; `undefined` where there's no room for one. */
export function padding(bytes: number, eolBytes: number, { padToBytes = 0 }: SseForm): string | undefined {
  const missing = padToBytes - bytes - eolBytes;
  return missing >= 1 ? `:${' '.repeat(missing - 1)}` : undefined;
}
