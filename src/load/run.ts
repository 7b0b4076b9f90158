import { setTimeout as sleep } from 'node:timers/promises';
import { SECRET_PARAMETER } from '../http/secret-headers.js';
import { type Asker, type AskerOptions, asker } from './asker.js';
import { LOAD_VERSION, type LoadProgress, type LoadReport, loadBook } from './load-report.js';

/** A load: so many connections, each of which asks again as soon as its answer has ended. Nothing is asked twice. */
export interface LoadOptions extends Omit<AskerOptions, 'tally'> {
  readonly concurrency: number;
  /** How many in all; absent: as many as go into the time. */
  readonly requests: number | undefined;
  /** No longer than that; what is under way then is stopped. */
  readonly durationMs: number | undefined;
  /** A header that names the connection, from 1: a lane for servers that have lanes by header. */
  readonly laneHeader: string | undefined;
  /** Ends it early. */
  readonly signal: AbortSignal | undefined;
  readonly progressEveryMs: number;
  onProgress?(progress: LoadProgress): void;
}

/** Behind a failed connect: a closed port would be asked thousands of times a second. */
const CONNECT_PAUSE_MS = 10;

/** @throws WirefaultError `bad_option` where such requests can't be made at all */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { concurrency, requests = Number.POSITIVE_INFINITY, durationMs, signal, url } = options;
  // Only here: no other command is to pay for it.
  const { Client } = await import('undici');
  const book = loadBook();
  const askers = Array.from({ length: Math.min(concurrency, requests) }, (_, n) =>
    asker(Client, { ...options, tally: book.tally, headers: headersOf(options, n + 1) }),
  );
  const startedAt = new Date();
  const startMs = performance.now();
  const idle = performance.eventLoopUtilization();
  const elapsedMs = (): number => performance.now() - startMs;
  let stoppedBy: LoadReport['stoppedBy'] = null;
  let going = true;

  const stopAll = (): Promise<unknown> => {
    going = false;
    return Promise.all(askers.map((one) => one.stop()));
  };
  const stop = (by: LoadReport['stoppedBy']): void => {
    stoppedBy ??= by;
    void stopAll();
  };
  const onAbort = (): void => stop('signal');
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const over = durationMs === undefined ? undefined : setTimeout(stop, durationMs, 'duration');
  const tick = setInterval(
    () => options.onProgress?.({ ...book.progress, elapsedMs: elapsedMs() }),
    options.progressEveryMs,
  );

  async function keepAsking(one: Asker): Promise<void> {
    while (going && book.progress.started < requests) {
      book.start();
      const asked = await one.ask();
      book.end(asked);
      if (asked.kind === 'refused' || asked.kind === 'connect_failed') await sleep(CONNECT_PAUSE_MS);
    }
  }

  try {
    await Promise.all(askers.map(keepAsking));
  } finally {
    clearTimeout(over);
    clearInterval(tick);
    signal?.removeEventListener('abort', onAbort);
    // Also where one of them threw, and the others still go on.
    void stopAll();
  }
  const ms = elapsedMs();
  const busy = performance.eventLoopUtilization(idle).utilization;
  await stopAll();
  const measured = book.measured;
  const perSecond = (count: number): number => Math.round((count / ms) * 1e6) / 1e3;
  return {
    version: LOAD_VERSION,
    url: shown(url),
    protocol: options.protocol,
    stream: options.stream,
    concurrency,
    readBytesPerSecond: options.readBytesPerSecond ?? null,
    timeoutMs: options.timeoutMs,
    startedAt: startedAt.toISOString(),
    elapsedMs: Math.round(ms * 1000) / 1000,
    stoppedBy,
    connections: askers.reduce((sum, one) => sum + one.connections, 0),
    ...measured,
    perSecond: {
      requests: perSecond(book.finished),
      events: perSecond(measured.events),
      bodyBytes: perSecond(measured.bodyBytes),
    },
    busy: Math.round(busy * 1000) / 1000,
  };
}

function headersOf({ headers, laneHeader }: LoadOptions, connection: number): LoadOptions['headers'] {
  return laneHeader === undefined ? headers : [...headers, [laneHeader, String(connection)]];
}

function shown(given: URL): string {
  const url = new URL(given);
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, 'redacted');
  }
  return url.href;
}
