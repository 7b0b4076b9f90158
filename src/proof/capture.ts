import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, WirefaultError } from '../errors.js';
import { redactRawRequest } from './redact.js';

/**
 * Stores the bytes of each exchange as they were on the wire: `000001.request` and `000001.response`, of a proxy also
 * `000001.upstream`, which is what the upstream answered.
 */
export interface Capture {
  store(exchange: number, request: Buffer, response: Buffer, upstream?: readonly Buffer[]): void;
  /** Resolves when everything is stored or lost. */
  flush(): Promise<void>;
}

export interface CaptureOptions {
  readonly dir: string;
  readonly redact: boolean;
  /** Called once when a file can't be written. */
  onLost(reason: string): void;
}

/** @throws WirefaultError `journal_failed` where the folder can't be made */
export async function openCapture(options: CaptureOptions): Promise<Capture> {
  const { dir, redact } = options;
  try {
    await mkdir(dir, { recursive: true });
  } catch (thrown) {
    throw new WirefaultError('journal_failed', `capture: can't make ${dir}: ${messageOf(thrown)}`, { cause: thrown });
  }
  const underWay = new Set<Promise<void>>();
  let lost = false;
  const lose = (thrown: unknown): void => {
    if (!lost) options.onLost(`${dir}: ${messageOf(thrown)}`);
    lost = true;
  };
  const write = (name: string, bytes: Buffer): void => {
    const writing = writeFile(join(dir, name), bytes)
      .catch(lose)
      .finally(() => underWay.delete(writing));
    underWay.add(writing);
  };
  return {
    store: (exchange, request, response, upstream) => {
      const name = String(exchange).padStart(6, '0');
      write(`${name}.request`, redact ? redactRawRequest(request) : request);
      write(`${name}.response`, response);
      if (upstream) write(`${name}.upstream`, Buffer.concat(upstream));
    },
    flush: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
