import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import type { Request } from '../http/request.js';
import { rounded } from '../proof/account.js';
import { keeping } from '../proxy/keeping.js';
import type { UpstreamTap } from '../proxy/upstream-side.js';
import type { Protocol } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import { asksForStream, fingerprintOf } from './fingerprint.js';
import {
  FILES,
  FOLDER,
  FOLDER_DIGITS,
  RECORDING_VERSION,
  type RecordedEnd,
  type RecordedExchangeData,
  type Segment,
} from './format.js';
import { maskedExchange } from './mask.js';

/** Stores what an upstream answers, an exchange in a folder of its own (docs/recordings.md). */
export interface Recording {
  /** An exchange begins: it has its number from now on. `protocol` is `null` for a request beside the answers. */
  begin(request: Request, protocol: Protocol | null): UpstreamTap;
  /** Resolves when everything is stored or lost. */
  flush(): Promise<void>;
}

export interface RecordingOptions {
  readonly dir: string;
  readonly redact: boolean;
  /** Secrets that are known beside those of the requests: the upstream's key. */
  readonly secrets: readonly string[];
  /** For messages: how the option is called. */
  readonly name: string;
  /** Called for the first exchange that can't be stored. */
  onLost(reason: string): void;
}

/** What an exchange was, once it is over. */
interface Over {
  readonly request: Request;
  readonly protocol: Protocol | null;
  readonly recordedAt: Date;
  readonly bytes: Buffer;
  readonly segments: readonly Segment[];
  readonly end: Parameters<UpstreamTap['ended']>[0];
  readonly endMs: number;
}

/**
 * Opens a folder for recordings, which may have some.
 * @throws WirefaultError `bad_recording` where it can't be made or read
 */
export async function openRecording(options: RecordingOptions): Promise<Recording> {
  const { dir } = options;
  let last = await lastNumberIn(dir, options.name);
  const underWay = new Set<Promise<void>>();
  let lost = false;

  /** Puts a folder in its place; another process may have taken the number. */
  async function place(temporary: string, number: number): Promise<void> {
    for (let free = number; ; free++) {
      try {
        await rename(temporary, join(dir, folderName(free)));
        last = Math.max(last, free);
        return;
      } catch (thrown) {
        if (!/^(ENOTEMPTY|EEXIST)$/.test(errnoOf(thrown) ?? '') || free > number + MAX_TAKEN) throw thrown;
      }
    }
  }

  async function store(number: number, over: Over): Promise<void> {
    let temporary: string | undefined;
    try {
      temporary = await mkdtemp(join(dir, `.${folderName(number)}.`));
      const files = Object.entries(filesOf(over, options));
      const made = temporary;
      await Promise.all(files.map(([name, bytes]) => writeFile(join(made, name), bytes)));
      await place(made, number);
    } catch (thrown) {
      if (temporary) await rm(temporary, { recursive: true, force: true }).catch(() => {});
      if (!lost) options.onLost(`${dir}: ${messageOf(thrown)}`);
      lost = true;
    }
  }

  return {
    begin: (request, protocol) => {
      const number = ++last;
      let recordedAt = new Date();
      let sentMs = performance.now();
      const parts: Buffer[] = [];
      const segments: Segment[] = [];
      const sinceSent = (): number => rounded(performance.now() - sentMs);
      return {
        sent: () => {
          recordedAt = new Date();
          sentMs = performance.now();
        },
        data: (bytes) => {
          parts.push(bytes);
          segments.push({ atMs: sinceSent(), bytes: bytes.length });
        },
        ended: (end) => {
          const over = {
            request,
            protocol,
            recordedAt,
            bytes: Buffer.concat(parts),
            segments,
            end,
            endMs: sinceSent(),
          };
          const storing = store(number, over).finally(() => underWay.delete(storing));
          underWay.add(storing);
        },
      };
    },
    flush: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** Numbers in a row that others may have taken in the meantime. */
const MAX_TAKEN = 100_000;

function folderName(number: number): string {
  return String(number).padStart(FOLDER_DIGITS, '0');
}

async function lastNumberIn(dir: string, name: string): Promise<number> {
  try {
    await mkdir(dir, { recursive: true });
    const numbers = (await readdir(dir)).filter((folder) => FOLDER.test(folder)).map(Number);
    return numbers.reduce((most, number) => Math.max(most, number), 0);
  } catch (thrown) {
    throw new WirefaultError('bad_recording', `${name}: can't use ${dir}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function filesOf(over: Over, { redact, secrets }: RecordingOptions): Record<string, Buffer | string> {
  const { request, protocol, recordedAt, bytes, endMs } = over;
  // A mark is where it is whatever the protocol, but for what only that protocol has.
  const seen = keeping(request.method, protocol ?? 'openai-chat');
  seen.take(bytes);
  if (over.end === 'fin') seen.scan.finish();
  // What came behind the answer is no part of it.
  const answer = seen.bytes();
  const raw = request.raw ?? Buffer.alloc(0);
  const masked = redact ? maskedExchange(raw, answer, secrets) : { request: raw, answer, what: [] };
  const { method, target, body, path } = request;
  const exchange: RecordedExchangeData = {
    version: RECORDING_VERSION,
    recordedAt: recordedAt.toISOString(),
    dialect: protocol,
    request: {
      method,
      path,
      fingerprint: fingerprintOf({ method, protocol, target, body }),
      stream: asksForStream(body),
    },
    answer: {
      status: seen.scan.head()?.status ?? null,
      bytes: answer.length,
      segments: segmentsWithin(over.segments, answer.length),
      end: endOf(over.end, seen.scan.end() !== undefined),
      endMs,
    },
    redacted: masked.what.length > 0 ? [...masked.what] : null,
  };
  return {
    [FILES.exchange]: `${JSON.stringify(exchange, null, 2)}\n`,
    [FILES.request]: masked.request,
    [FILES.answer]: masked.answer,
    [FILES.marks]: seen
      .marks()
      .map((mark) => `${JSON.stringify(markWithin(mark, answer.length))}\n`)
      .join(''),
  };
}

function endOf(end: Over['end'], whole: boolean): RecordedEnd {
  if (whole) return 'whole';
  // A connection that could be kept is one whose answer was whole.
  return end === 'kept' ? 'dropped' : end;
}

function segmentsWithin(segments: readonly Segment[], length: number): Segment[] {
  let left = length;
  return segments.flatMap(({ atMs, bytes }) => {
    const own = Math.min(bytes, left);
    left -= own;
    return own > 0 ? [{ atMs, bytes: own }] : [];
  });
}

/** What had begun when the answer broke off has no end. */
function markWithin(mark: Mark, length: number): Omit<Mark, 'end'> & { readonly end: number | null } {
  return { ...mark, end: mark.end > length ? null : mark.end };
}
