import { createHash } from 'node:crypto';
import { idleWork } from './idle-work.js';

/** SHA-256 of what was written of an answer, and of all that came of it. */
export interface AnswerHashes {
  wrote(bytes: Buffer): void;
  /** `unwritten`: what came, and was not written. */
  digests(unwritten: readonly Buffer[]): { readonly written: string; readonly received: string };
}

export function answerHashes(): AnswerHashes {
  const hash = createHash('sha256');
  const hashing = idleWork((bytes) => hash.update(bytes));
  return {
    wrote: hashing.add,
    digests: (unwritten) => {
      hashing.flush();
      const written = hash.copy().digest('hex');
      for (const bytes of unwritten) hash.update(bytes);
      return { written, received: hash.digest('hex') };
    },
  };
}
