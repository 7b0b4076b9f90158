import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { messageOf, WirefaultError } from '../errors.js';
import { keeping } from '../proxy/keeping.js';
import { tapesOfHar } from './har.js';
import { BadRecording, bytesIn, readDirectory } from './read-directory.js';
import { answerOf, dialectOfEvents, dialectOfJson, type Tape, type ToldBody } from './tape.js';

/**
 * Answers out of a directory of recordings, a HAR, or a file with one answer: the body of a stream (`.sse`) or of a JSON
 * answer (`.json`), or all of it, head and framing too, by its first bytes.
 * @param name how the option is called, for messages
 * @throws WirefaultError `bad_recording`
 */
export async function readTapes(path: string, name: string): Promise<readonly Tape[]> {
  try {
    const isDirectory = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return isDirectory ? await readDirectory(path) : tapesIn(path, await bytesIn(path));
  } catch (thrown) {
    throw new WirefaultError('bad_recording', `${name}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

const STREAM = { status: 200, headers: [['Content-Type', 'text/event-stream']] } as const;
const JSON_BODY = { status: 200, headers: [['Content-Type', 'application/json']] } as const;

function tapesIn(path: string, bytes: Buffer): Tape[] {
  if (/^HTTP\/1\.\d /.test(bytes.toString('latin1', 0, 9))) return [rawTape(path, bytes)];
  switch (extname(path).toLowerCase()) {
    case '.har':
      return tapesOfHar(path, bytes);
    case '.sse':
      return [bodyTape(path, { ...STREAM, body: bytes }, dialectOfEvents(bytes), true)];
    case '.json':
      return [bodyTape(path, { ...JSON_BODY, body: bytes }, dialectOfJson(bytes), false)];
    default:
      throw new BadRecording(
        `${path}: expected a directory of recordings, a .har, the body of an answer as .sse or .json, or a file that begins with HTTP/1.1`,
      );
  }
}

function bodyTape(path: string, told: ToldBody, dialect: Tape['dialect'], stream: boolean): Tape {
  return { ...LONE, name: basename(path), dialect, stream, answer: answerOf(told) };
}

/** What isn't known of an answer that stands alone. */
const LONE = { method: 'POST', fingerprint: undefined, segments: [], end: 'whole', endMs: 0 } as const;

function rawTape(path: string, bytes: Buffer): Tape {
  const seen = keeping('POST', 'openai-chat');
  seen.take(bytes);
  const whole = seen.scan.finish();
  const { kind, body = bytes } = seen.kept() ?? {};
  const stream = kind?.kind === 'events';
  const dialect = stream ? dialectOfEvents(body) : dialectOfJson(body);
  const answer = whole ? seen.bytes() : bytes;
  return { ...LONE, name: basename(path), dialect, stream, answer, end: whole ? 'whole' : 'fin' };
}
