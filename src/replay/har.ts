import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Entry, Har } from 'har-format';
import { z } from 'zod';
import { headerIn } from '../http/response-scanner.js';
import { protocolOfPath } from '../http/routes.js';
import { keeping } from '../proxy/keeping.js';
import type { Header } from '../sse/dialect.js';
import { VERSION } from '../version.js';
import { asksForStream, fingerprintOf } from './fingerprint.js';
import { BadRecording, jsonIn } from './read-directory.js';
import { answerOf, type Tape } from './tape.js';

/**
 * HTTP Archives (HAR 1.2), as browsers and proxies save them. No kept library reads or writes them: har-validator and
 * har-schema are given up, @har-sdk comes with OpenAPI and Postman. So the types are DefinitelyTyped's, and what is read
 * is checked here.
 *
 * A HAR has bodies without their framing and encoding, and one time for all of an answer: segments, chunks and how the
 * connection ended are lost in it.
 */

const pairs = z.array(z.object({ name: z.string(), value: z.string() }));

const entrySchema = z.object({
  request: z.object({
    method: z.string(),
    url: z.string(),
    postData: z.object({ text: z.string().optional() }).optional(),
  }),
  response: z.object({
    status: z.int(),
    statusText: z.string().optional(),
    headers: pairs,
    content: z.object({
      text: z.string().optional(),
      encoding: z.string().optional(),
      mimeType: z.string().optional(),
    }),
  }),
  timings: z.object({ wait: z.number() }).optional(),
});

const harSchema = z.object({ log: z.object({ entries: z.array(z.unknown()) }) });

/** What is written anew with the body, which a HAR has decoded; HTTP/2 has names of its own. */
const NOT_KEPT = /^(:.*|transfer-encoding|content-length|content-encoding|connection|keep-alive|trailer)$/i;

/**
 * The answers of a HAR to requests for answers; its other entries are nothing here.
 * @throws BadRecording
 */
export function tapesOfHar(path: string, bytes: Buffer): Tape[] {
  const har = harSchema.safeParse(jsonIn(path, bytes));
  if (!har.success) throw new BadRecording(`${path}: no HAR: it has no log.entries`);
  const { entries } = har.data.log;
  const tapes = entries.flatMap((entry, n) => tapeOf(path, entry, n));
  if (tapes.length > 0) return tapes;
  throw new BadRecording(
    `${path}: none of its ${entries.length} entries is a POST for an answer (/v1/chat/completions, say)`,
  );
}

function tapeOf(path: string, entry: unknown, n: number): Tape[] {
  const parsed = entrySchema.safeParse(entry);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BadRecording(`${path}: log.entries[${n}].${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { request, response, timings } = parsed.data;
  const { method, url, postData } = request;
  const { pathname: target } = URL.canParse(url) ? new URL(url) : { pathname: url };
  const protocol = protocolOfPath(method, target);
  if (!protocol || response.status < 100) return [];
  const { content } = response;
  if (content.text === undefined) {
    throw new BadRecording(`${path}: log.entries[${n}].response.content has no text; save the HAR with content`);
  }
  const body = Buffer.from(content.text, content.encoding === 'base64' ? 'base64' : 'utf8');
  const headers = response.headers.flatMap(({ name, value }): Header[] => (NOT_KEPT.test(name) ? [] : [[name, value]]));
  const typed = headers.some(([name]) => /^content-type$/i.test(name));
  const type: Header[] = typed || !content.mimeType ? [] : [['Content-Type', content.mimeType]];
  const asked = Buffer.from(postData?.text ?? '');
  const { statusText: reason = '' } = response;
  const answer = answerOf({ status: response.status, reason, headers: [...type, ...headers], body });
  const atMs = Math.max(0, timings?.wait ?? 0);
  return [
    {
      name: `${path.split(/[\\/]/).at(-1)}#${n + 1}`,
      dialect: protocol,
      method,
      fingerprint: fingerprintOf({ method, protocol, target, body: asked }),
      stream: asksForStream(asked),
      answer,
      segments: [{ atMs, bytes: answer.length }],
      end: 'whole',
      endMs: atMs,
    },
  ];
}

/** What a HAR tells of an exchange, beside its answer. */
export interface HarRequest {
  readonly recordedAt: string;
  readonly method: string;
  /** As it was sent, keys masked. */
  readonly target: string;
  readonly host: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export function harOf(exchanges: readonly { readonly tape: Tape; readonly request: HarRequest }[]): Har {
  const entries = exchanges.map(({ tape, request }) => entryOf(tape, request));
  return { log: { version: '1.2', creator: { name: 'wirefault', version: VERSION }, entries } };
}

const nameValue = (headers: readonly (readonly [string, string])[]) =>
  headers.map(([name, value]) => ({ name, value }));

function entryOf(tape: Tape, request: HarRequest): Entry {
  const protocol = tape.dialect === 'any' || tape.dialect === 'beside' ? 'openai-chat' : tape.dialect;
  const seen = keeping(tape.method, protocol);
  seen.take(tape.answer);
  if (tape.end === 'whole') seen.scan.finish();
  const { head, body = Buffer.alloc(0) } = seen.kept() ?? {};
  const headers = head?.headers ?? [];
  const wait = tape.segments[0]?.atMs ?? tape.endMs;
  const mimeType = headerIn(headers, 'content-type') ?? '';
  const url = `http://${request.host || 'localhost'}${request.target}`;
  const query = [...new URL(url, 'http://localhost').searchParams].map(([name, value]) => ({ name, value }));
  const sentType = headerIn(request.headers, 'content-type') ?? 'application/json';
  const decoded = decodedBody(body, headerIn(headers, 'content-encoding'));
  return {
    startedDateTime: request.recordedAt,
    time: Math.max(wait, tape.endMs),
    request: {
      method: request.method,
      url,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: nameValue(request.headers),
      queryString: query,
      ...(request.body.length > 0 ? { postData: { mimeType: sentType, text: request.body.toString('utf8') } } : {}),
      headersSize: -1,
      bodySize: request.body.length,
    },
    response: {
      status: head?.status ?? 0,
      statusText: statusTextOf(tape.answer, head?.start, head?.statusLineEnd),
      httpVersion: `HTTP/${head?.httpVersion ?? '1.1'}`,
      cookies: [],
      headers: nameValue(headers),
      content: { size: decoded.length, mimeType, ...contentText(decoded) },
      redirectURL: '',
      headersSize: head ? head.end - head.start : -1,
      bodySize: body.length,
    },
    cache: {},
    timings: { send: 0, wait, receive: Math.max(0, tape.endMs - wait) },
    ...(tape.end === 'whole' ? {} : { comment: `the answer was not whole: ${tape.end}` }),
  };
}

function statusTextOf(answer: Buffer, start = 0, end = 0): string {
  return /^\S+ \d+ ?(.*?)\r?\n?$/s.exec(answer.toString('latin1', start, end))?.[1] ?? '';
}

/** What is no text is base64; text is what comes back as the same bytes. */
function contentText(body: Buffer): { text: string; encoding?: string } {
  const text = body.toString('utf8');
  return Buffer.from(text).equals(body) ? { text } : { text: body.toString('base64'), encoding: 'base64' };
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** A HAR's content is not compressed. What can't be decoded is left as it came. */
function decodedBody(body: Buffer, coding = 'identity'): Buffer {
  try {
    return DECODERS[coding.trim().toLowerCase()]?.(body) ?? body;
  } catch {
    return body;
  }
}
