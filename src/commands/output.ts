import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { errnoOf } from '../errors.js';
import { type Paint, plain } from '../proof/paint.js';

/** Where a command prints to: `process.stdout` and `process.stderr`, or streams of a test. */
export interface CommandOutput {
  readonly out: Writable & { readonly isTTY?: boolean; hasColors?(): boolean };
  readonly err: { write(text: string): unknown };
}

export function processOutput(): CommandOutput {
  const { stdout: out, stderr: err } = process;
  // The reader may go before us, as in `wirefault journal FILE | head`; `print` then says so.
  out.on('error', () => {});
  return { out, err };
}

/** Colors where the terminal has them; NO_COLOR and its like are `hasColors`' matter. */
export function paintOf({ out }: CommandOutput): Paint {
  return out.isTTY && out.hasColors?.() ? styleText : plain;
}

/** Writes, and waits while the reader is slow. `false` when the reader has gone. */
export async function print({ out }: CommandOutput, text: string): Promise<boolean> {
  if (out.destroyed || out.errored) return false;
  if (out.write(text)) return true;
  try {
    await once(out, 'drain');
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EPIPE') return false;
    throw thrown;
  }
}
