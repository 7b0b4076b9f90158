import { createHash } from 'node:crypto';
import { idleWork } from './idle-work.js';

/** SHA-256 of what was written of an answer, and of all that came of it. */
export interface AnswerHashes {
  wrote(bytes: Buffer): void;
  /** `unwritten`: what came, and was not written. */
  digests(unwritten: readonly Buffer[]): { readonly written: string; readonly received: string };
}

/** A read that is nearly full: more of the same is on its way, and the bytes are still in the processor's cache. */
const BULK_BYTES = 32_768;

export function answerHashes(): AnswerHashes {
  const hash = createHash('sha256');
  const hashing = idleWork((bytes) => hash.update(bytes));
  return {
    wrote: (bytes) => {
      if (bytes.length < BULK_BYTES) {
        hashing.add(bytes);
        return;
      }
      // Kept for an idle moment, bulk would only grow old in memory (measured: 1.5 times the time for 100 MiB).
      hashing.flush();
      hash.update(bytes);
    },
    digests: (unwritten) => {
      hashing.flush();
      const written = hash.copy().digest('hex');
      for (const bytes of unwritten) hash.update(bytes);
      return { written, received: hash.digest('hex') };
    },
  };
}
