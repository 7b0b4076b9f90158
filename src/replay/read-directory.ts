import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, messageOf } from '../errors.js';
import type { Request } from '../http/request.js';
import { requestParser } from '../http/request-parser.js';
import { fingerprintOf } from './fingerprint.js';
import { exchangeSchema, FILES, FOLDER, RECORDING_VERSION, type RecordedExchangeData, type Segment } from './format.js';
import type { Tape } from './tape.js';

/** Recordings out of their directory. What isn't one is told in one line: the file, what it has, what it should have. */

/** Nothing that is read is longer; a Buffer of more is trouble, and no answer is. */
const MAX_FILE_BYTES = 536_870_912;

/** What is wrong with a recording; the caller says which option asked for it. */
export class BadRecording extends Error {}

export async function readDirectory(dir: string): Promise<Tape[]> {
  const folders = (await readdir(dir)).filter((name) => FOLDER.test(name));
  if (folders.length === 0) {
    throw new BadRecording(`${dir} has no recordings; expected folders such as 000001 with ${FILES.exchange} in them`);
  }
  const tapes: Tape[] = [];
  for (const folder of folders.toSorted((a, b) => Number(a) - Number(b))) tapes.push(await readExchange(dir, folder));
  return tapes;
}

/** As it was sent, keys masked. */
export async function readRequest(dir: string, folder: string): Promise<{ request: Request; recordedAt: string }> {
  const path = (file: keyof typeof FILES): string => join(dir, folder, FILES[file]);
  const { recordedAt } = exchangeIn(path('exchange'), await bytesIn(path('exchange')));
  return { request: requestIn(await bytesIn(path('request')), path('request')), recordedAt };
}

async function readExchange(dir: string, folder: string): Promise<Tape> {
  const path = (file: keyof typeof FILES): string => join(dir, folder, FILES[file]);
  const exchange = exchangeIn(path('exchange'), await bytesIn(path('exchange')));
  const bytes = await bytesIn(path('answer'));
  const { answer, request, dialect } = exchange;
  const segments = answer.segments ?? (bytes.length > 0 ? [{ atMs: 0, bytes: bytes.length }] : []);
  const problem = problemWith(segments, bytes.length, answer.bytes);
  if (problem) throw new BadRecording(`${path('exchange')}: ${problem}`);
  const asked = async (): Promise<Request> => requestIn(await bytesIn(path('request')), path('request'));
  return {
    name: folder,
    dialect: dialect ?? 'beside',
    method: request.method,
    fingerprint:
      request.fingerprint ?? fingerprintOf({ ...(await asked()), method: request.method, protocol: dialect }),
    stream: request.stream,
    answer: bytes,
    segments,
    end: answer.end,
    endMs: answer.endMs ?? segments.at(-1)?.atMs ?? 0,
  };
}

function problemWith(segments: readonly Segment[], length: number, told: number): string | undefined {
  const sum = segments.reduce((all, { bytes }) => all + bytes, 0);
  if (told !== length) return `answer.bytes is ${told}, but ${FILES.answer} has ${length} bytes`;
  if (sum !== length) {
    return `answer.segments have ${sum} bytes, but ${FILES.answer} has ${length}; leave them out for all at once`;
  }
  const back = segments.findIndex(({ atMs }, n) => n > 0 && atMs < (segments[n - 1]?.atMs ?? 0));
  return back < 0 ? undefined : `answer.segments[${back}].atMs is before that of the segment before it`;
}

function exchangeIn(path: string, bytes: Buffer): RecordedExchangeData {
  const json = jsonIn(path, bytes);
  const version = typeof json === 'object' && json !== null && 'version' in json ? json.version : undefined;
  if (typeof version === 'number' && version > RECORDING_VERSION) {
    throw new BadRecording(`${path}: version ${version} is newer than this program, which reads ${RECORDING_VERSION}`);
  }
  const parsed = exchangeSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BadRecording(`${path}: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`);
}

export function jsonIn(path: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (thrown) {
    throw new BadRecording(`${path}: no JSON: ${messageOf(thrown)}`);
  }
}

/** The first request in `raw`. */
function requestIn(raw: Buffer, path: string): Request {
  let request: Request | undefined;
  let reason = 'it ends before the request does';
  const parser = requestParser(
    { maxHeadBytes: MAX_FILE_BYTES, maxBodyBytes: MAX_FILE_BYTES, keepRaw: false },
    {
      onHead: () => true,
      onRequest: (whole) => {
        request ??= whole;
      },
      onBad: (bad) => {
        reason = bad.reason;
      },
    },
  );
  parser.feed(raw);
  if (!request) throw new BadRecording(`${path}: no HTTP request: ${reason}`);
  return request;
}

/** @throws BadRecording where it isn't there, or is too long */
export async function bytesIn(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) throw new BadRecording(`${path} has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
    return await readFile(path);
  } catch (thrown) {
    if (thrown instanceof BadRecording) throw thrown;
    const why = errnoOf(thrown) === 'ENOENT' ? 'there is no such file' : messageOf(thrown);
    throw new BadRecording(`${path}: ${why}`);
  }
}
