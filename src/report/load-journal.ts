import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { messageOf, WirefaultError } from '../errors.js';
import { readJournal } from '../proof/journal-read.js';
import { type Ledger, ledgerSchema } from '../proof/ledger.js';
import { plural } from '../proof/paint.js';
import { findingsOf } from '../trial/findings.js';
import { reportedExchange } from './exchange.js';
import type { ReportedJournal } from './report.js';

/** Reads what one run of a server has seen: out of its journal, or from the server while it lives. */
export const JOURNAL_LIMITS = {
  /** Exchanges, the newest ones: a journal can be larger than memory, and findings compare them with each other. */
  ledgers: 5000,
  /** Of them, those that a page shows. */
  exchanges: 200,
  /** Bytes of exchanges in memory, of a file as well as of a server. */
  cachedBytes: 64 * 2 ** 20,
} as const;

type Part = 'request' | 'response';
type BytesOf = (exchange: number, part: Part) => Buffer | undefined;

/**
 * @param bytesDir what `--capture` has written; `bytes` beside the file where it isn't given
 * @throws WirefaultError `bad_evidence`
 */
export async function loadJournal(path: string, bytesDir: string | undefined): Promise<ReportedJournal> {
  const seen = new Map<number, Ledger>();
  let [earlier, dropped, bad] = [0, 0, 0];
  let firstBad: string | undefined;
  for await (const line of readJournal(path)) {
    if (line.kind === 'bad') {
      firstBad ??= `line ${line.number}: ${line.reason}`;
      bad++;
      continue;
    }
    const { ledger } = line;
    // Numbers count from 1 in each run of a server: one that comes again is another run's.
    if (seen.has(ledger.exchange)) {
      earlier += seen.size + dropped;
      dropped = 0;
      seen.clear();
    }
    seen.set(ledger.exchange, ledger);
    if (seen.size > JOURNAL_LIMITS.ledgers) {
      const [oldest] = seen.keys();
      if (oldest !== undefined) seen.delete(oldest);
      dropped++;
    }
  }
  if (seen.size === 0 && bad > 0) {
    throw new WirefaultError('bad_evidence', `${path}: not a journal: ${firstBad}`);
  }
  const dir = bytesDir ?? join(dirname(path), 'bytes');
  const hasBytes = statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
  if (bytesDir !== undefined && !hasBytes) {
    throw new WirefaultError('bad_option', `--bytes: ${bytesDir} is no folder`);
  }
  return reported(path, [...seen.values()], hasBytes ? bytesIn(dir) : () => undefined, [
    ...(earlier > 0 ? [`${plural(earlier, 'exchange')} of earlier runs in the same file`] : []),
    ...(dropped > 0 ? [`${plural(dropped, 'older exchange')} of the same run`] : []),
    ...(bad > 0 ? [`${plural(bad, 'line')} that can't be read as a ledger (${firstBad})`] : []),
    ...(hasBytes ? [] : ['what stands in the bytes of requests and answers (statuses, waits): they were not captured']),
  ]);
}

/** As `--capture` stores them. */
function bytesIn(dir: string): BytesOf {
  const cache = new LRUCache<string, Buffer>({
    maxSize: JOURNAL_LIMITS.cachedBytes,
    sizeCalculation: ({ length }) => length + 64,
  });
  return (exchange, part) => {
    const name = `${String(exchange).padStart(6, '0')}.${part}`;
    const known = cache.get(name);
    if (known) return known;
    try {
      const bytes = readFileSync(join(dir, name));
      cache.set(name, bytes);
      return bytes;
    } catch {
      return undefined;
    }
  };
}

function reported(
  source: string,
  unordered: readonly Ledger[],
  bytesOf: BytesOf,
  leftOut: readonly string[],
): ReportedJournal {
  const ledgers = unordered.toSorted((a, b) => a.exchange - b.exchange);
  return {
    source,
    ledgers,
    findings: findingsOf(ledgers, {
      response: (exchange) => bytesOf(exchange, 'response'),
      requestBody: (exchange) => bytesOf(exchange, 'request')?.toString('utf8'),
    }),
    exchanges: ledgers
      .slice(-JOURNAL_LIMITS.exchanges)
      .map((ledger) => reportedExchange(ledger, bytesOf(ledger.exchange, 'response'))),
    leftOut,
  };
}

/** Of requests to the control plane. */
const LIVE_TIMEOUT_MS = 10_000;

/**
 * What a live server keeps: its ledgers and, of the newest exchanges, the bytes.
 * @param url of the server or of its control plane, with or without a path
 * @throws WirefaultError `bad_option`, `bad_evidence`
 */
export async function loadLive(url: string, token: string | undefined): Promise<ReportedJournal> {
  if (!URL.canParse(url)) throw new WirefaultError('bad_option', `${url} is no URL`);
  const base = new URL('/__journal', url).href;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const get = async (path: string): Promise<Response> => {
    try {
      return await fetch(`${base}${path}`, { headers, signal: AbortSignal.timeout(LIVE_TIMEOUT_MS) });
    } catch (thrown) {
      const cause = thrown instanceof Error && thrown.cause !== undefined ? messageOf(thrown.cause) : messageOf(thrown);
      throw new WirefaultError('bad_evidence', `${base}: ${cause}`, { cause: thrown });
    }
  };
  const response = await get('');
  const text = await response.text();
  if (!response.ok) {
    throw new WirefaultError('bad_evidence', `${base}: status ${response.status}: ${text.slice(0, 200)}`);
  }
  const ledgers = text
    .split('\n')
    .flatMap((line, n) => (line.trim() === '' ? [] : [ledgerIn(line, `${base}:${n + 1}`)]));
  const newest = ledgers.slice(-JOURNAL_LIMITS.ledgers);
  const bytes = new Map<string, Buffer>();
  let [held, without] = [0, 0];
  for (const { exchange } of newest.toReversed()) {
    // What is older isn't kept either.
    if (held > JOURNAL_LIMITS.cachedBytes) break;
    for (const part of ['request', 'response'] as const) {
      const got = await get(`/${exchange}/${part}`);
      const content = Buffer.from(await got.arrayBuffer());
      if (!got.ok) continue;
      bytes.set(`${exchange} ${part}`, content);
      held += content.length;
    }
  }
  for (const { exchange } of newest) if (!bytes.has(`${exchange} response`)) without++;
  return reported(url, newest, (exchange, part) => bytes.get(`${exchange} ${part}`), [
    ...(ledgers.length > newest.length ? [plural(ledgers.length - newest.length, 'older exchange')] : []),
    ...(without > 0 ? [`the bytes of ${plural(without, 'exchange')}, which the server no longer keeps`] : []),
  ]);
}

function ledgerIn(line: string, place: string): Ledger {
  try {
    return ledgerSchema.parse(JSON.parse(line));
  } catch (thrown) {
    const message = `${place}: not a ledger: ${messageOf(thrown).split('\n', 1)[0]}`;
    throw new WirefaultError('bad_evidence', message, { cause: thrown });
  }
}
