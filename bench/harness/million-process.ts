import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import net from 'node:net';
import { createInterface } from 'node:readline';
import type { Ledger } from '../../src/proof/ledger.js';

/**
 * The client of the long run: each exchange has a mark of its own in its request, by which its ledger is found. Of each
 * answer the length and the SHA-256 are kept, however it ended, and held against the journal at the end.
 */
type Command =
  /** How many exchanges there will be. */
  | { readonly kind: 'prepare'; readonly exchanges: number }
  | {
      readonly kind: 'exchange';
      readonly port: number;
      readonly connections: number;
      /** Counts from 0. */
      readonly from: number;
      readonly count: number;
    }
  /** `prefixes`: how many attempts from the first one each hash of the faults is of. */
  | { readonly kind: 'verify'; readonly journal: string; readonly prefixes: readonly number[] };

export interface Exchanged {
  readonly elapsedMs: number;
}

export interface Verified {
  readonly ledgers: number;
  /** The client got what was written, byte for byte. */
  readonly verified: number;
  /** Exchanges without a ledger, attempts that are missing or there twice. */
  readonly missing: number;
  /** The client got less, or other bytes, than its ledger says. By behavior. */
  readonly wrong: Readonly<Record<string, number>>;
  /** By behavior. */
  readonly played: Readonly<Record<string, number>>;
  /** Of the faults in the order of their attempts. */
  readonly sequences: readonly string[];
}

const SHA_BYTES = 32;
/** No answer of this run is longer. */
const ANSWER_BYTES = 65_536;

let lengths = new Uint32Array(0);
let hashes = Buffer.alloc(0);

function requestOf(index: number): string {
  const content = `wirefault:m${index}`;
  const body = JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content }] });
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

interface Progress {
  /** Whether the answer is whole by its framing. */
  readonly whole: boolean;
  readonly close: boolean;
}

/** What `answer` is by its own framing; one without a length and chunks ends with its connection. */
function progressOf(answer: Buffer): Progress {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd < 0) return { whole: false, close: false };
  const head = answer.toString('latin1', 0, headEnd + 2).toLowerCase();
  const close = head.includes('\r\nconnection: close\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1];
  if (length !== undefined) return { whole: answer.length >= headEnd + 4 + Number(length), close };
  return { whole: answer.subarray(-7).equals(CHUNKED_END), close };
}

const CHUNKED_END = Buffer.from('\r\n0\r\n\r\n');

/** All exchanges from `from` on, by several connections, each of which asks for the next as soon as it can. */
function exchange({ port, connections, from, count }: Command & { kind: 'exchange' }): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let next = from;
    let open = count;

    function keep(index: number, answer: Buffer): void {
      lengths[index] = answer.length;
      hash('sha256', answer, 'buffer').copy(hashes, index * SHA_BYTES);
      if (--open === 0) resolve({ elapsedMs: performance.now() - begun });
    }

    /** One after the other until there are none left; a connection that ended is replaced. */
    function walk(answer: Buffer): void {
      let length = 0;
      let index = -1;
      const callback = (bytes: number, read: Uint8Array): boolean => {
        answer.set(read.subarray(0, bytes), length);
        length += bytes;
        const { whole, close } = progressOf(answer.subarray(0, length));
        if (whole && !close) onAnswer();
        return true;
      };
      const buffer = Buffer.allocUnsafe(16_384);
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
      const ask = (): void => {
        index = -1;
        length = 0;
        if (next === from + count) {
          socket.resetAndDestroy();
          return;
        }
        index = next++;
        socket.write(requestOf(index));
      };
      const onAnswer = (): void => {
        keep(index, answer.subarray(0, length));
        ask();
      };
      socket.on('connect', ask);
      // A reset is what many of them are for.
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
      });
      socket.on('close', () => {
        if (index >= 0) keep(index, answer.subarray(0, length));
        if (next < from + count) walk(answer);
      });
    }
    for (let n = 0; n < Math.min(connections, count); n++) walk(Buffer.allocUnsafe(ANSWER_BYTES));
  });
}

async function verify({ journal, prefixes }: Command & { kind: 'verify' }): Promise<Verified> {
  const seen = new Uint8Array(lengths.length);
  const faults: string[] = new Array(lengths.length + 1);
  const wrong: Record<string, number> = {};
  const played: Record<string, number> = {};
  let ledgers = 0;
  let verified = 0;
  let missing = 0;
  for await (const line of createInterface({ input: createReadStream(journal) })) {
    const ledger: Ledger = JSON.parse(line);
    ledgers++;
    const { behavior } = ledger.selection;
    played[behavior] = (played[behavior] ?? 0) + 1;
    if (faults[ledger.attempt] !== undefined) missing++;
    faults[ledger.attempt] = behavior;
    const index = Number(ledger.request?.marker?.slice(1) ?? Number.NaN);
    if (!(index < seen.length) || seen[index] === 1) {
      missing++;
      continue;
    }
    seen[index] = 1;
    const got = hashes.toString('hex', index * SHA_BYTES, (index + 1) * SHA_BYTES);
    if (lengths[index] === ledger.bytes.written && got === ledger.plan.writtenSha256) verified++;
    else wrong[behavior] = (wrong[behavior] ?? 0) + 1;
  }
  missing += seen.filter((one) => one === 0).length;
  const sequences = prefixes.map((count) => hash('sha256', faults.slice(1, count + 1).join(',')));
  return { ledgers, verified, missing, wrong, played, sequences };
}

async function run(command: Command): Promise<object> {
  switch (command.kind) {
    case 'prepare':
      lengths = new Uint32Array(command.exchanges);
      hashes = Buffer.alloc(command.exchanges * SHA_BYTES);
      return {};
    case 'exchange':
      return exchange(command);
    case 'verify':
      return verify(command);
    default:
      return command satisfies never;
  }
}

process.on('message', async (command: Command) => {
  try {
    process.send?.(await run(command));
  } catch (thrown) {
    process.send?.({ failed: String(thrown) });
  }
});
process.on('disconnect', () => process.exit(0));
