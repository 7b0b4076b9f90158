import { z } from 'zod';

/**
 * How the HTTP layers of an answer are written (RFC 9112): the head, the encoding and the framing of the body, each with
 * the lies that it can tell. What isn't named is as a correct server has it.
 */
const HEADER_EOLS = ['crlf', 'lf', 'cr'] as const;

const headers = z
  .array(z.tuple([z.string(), z.string()]).readonly())
  .readonly()
  .describe('[name, value] in the order of the wire; nothing in them is checked or escaped');

export const headFormSchema = z
  .strictObject({
    version: z.string().optional().describe('behind `HTTP/`. Default 1.1; with 1.0 a body has no chunks'),
    status: z.int().min(0).max(999_999).optional().describe("instead of the answer's own"),
    reason: z.string().optional().describe('the words behind the status'),
    statusLine: z.string().optional().describe('the whole first line, without its end'),
    set: headers
      .optional()
      .describe(
        'headers that take the place of those of the same name, or come at the end; {date+30000ms} in a value is the ' +
          'HTTP-date so long from now, {date-30000ms} before',
      ),
    add: headers.optional().describe('headers that come at the end, beside those of the same name; dates as in `set`'),
    remove: z.array(z.string()).readonly().optional().describe('names of headers that are left out'),
    contentType: z
      .literal('swapped')
      .optional()
      .describe('a stream says that it is JSON, and anything else that it is a stream'),
    connection: z
      .enum(['close', 'keep-alive', 'none'])
      .optional()
      .describe('what the Connection header says, whatever is done'),
    eol: z.enum(HEADER_EOLS).optional().describe('line ends of the head. Default crlf'),
    before: z.string().optional().describe('bytes before the status line'),
    informational: z
      .strictObject({
        status: z.int().min(100).max(199),
        times: z.int().min(1).max(100_000),
        headers: headers.optional(),
      })
      .readonly()
      .optional()
      .describe('interim answers before the final one (RFC 9110, section 15.2)'),
    padToBytes: z
      .int()
      .min(1)
      .max(67_108_864)
      .optional()
      .describe('a header of its own makes the head at least so long'),
    raw: z.string().optional().describe('the whole head, its empty line included; nothing else of it is sent'),
  })
  .readonly();

export type HeadForm = z.infer<typeof headFormSchema>;

export const ENCODINGS = ['gzip', 'gzip_half', 'gzip_no_trailer', 'gzip_extra', 'gzip_lie'] as const;

export const encodingSchema = z
  .enum(ENCODINGS)
  .describe(
    'gzip: true; gzip_half: the second half of the compressed bytes is missing; gzip_no_trailer: the last 8 bytes are; ' +
      'gzip_extra: bytes behind its end; gzip_lie: announced, but not done',
  );

export type Encoding = z.infer<typeof encodingSchema>;

export const FRAMINGS = ['chunked', 'content_length', 'until_close'] as const;

/** Where chunks end is a matter of positions, and so of `fault/spec`. */
export const framingFormSchema = z.strictObject({
  kind: z
    .enum(FRAMINGS)
    .optional()
    .describe('Default chunked for streams, content_length for other bodies; chunked needs HTTP/1.1'),
  contentLength: z
    .union([
      z.strictObject({ add: z.int() }).readonly().describe('bytes that the length is off by'),
      z.array(z.string()).readonly().describe('values of one header each; {length} stands for the true one'),
    ])
    .optional()
    .describe('what the Content-Length headers say; with chunked, both framings are announced'),
  transferEncoding: z.array(z.string()).readonly().optional().describe('values of the Transfer-Encoding headers'),
  extension: z.string().optional().describe('behind each size, `;` included (RFC 9112, section 7.1.1)'),
  sizes: z
    .array(z.strictObject({ chunk: z.int().min(1), size: z.string() }).readonly())
    .readonly()
    .optional()
    .describe('what the size line of a chunk says instead of its size'),
  trailers: headers.optional().describe('fields behind the last chunk (RFC 9112, section 7.1.2)'),
  last: z
    .enum(['whole', 'no_final_crlf', 'none'])
    .optional()
    .describe('what there is of the last chunk, the `0`. Default whole'),
});

export type FramingForm = z.infer<typeof framingFormSchema>;
