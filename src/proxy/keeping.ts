import type { WirePlan } from '../fault/wire-plan.js';
import type { Protocol } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import { type AnswerScan, answerScan, type SeenEvent } from './answer-scan.js';
import { type KeptAnswer, type KeptInput, keptPlan } from './kept-answer.js';
import { markKeeper } from './mark-keeper.js';
import { spreadSignals } from './spread-signals.js';

/** Keeps an answer until it is whole. */
export interface Keeping {
  readonly scan: AnswerScan;
  take(bytes: Buffer): void;
  /** All that came of the answer. */
  bytes(): Buffer;
  /** Of what has come; what has begun reaches beyond it. */
  marks(): readonly Mark[];
  /** `undefined` while its head hasn't come. */
  kept(): KeptAnswer | undefined;
  /** @throws WirefaultError `plan_impossible` */
  plan(input: KeptInput): WirePlan;
}

export function keeping(method: string, protocol: Protocol): Keeping {
  const parts: Buffer[] = [];
  const body: Buffer[] = [];
  const events: SeenEvent[] = [];
  const marks = markKeeper({ maxEvents: Number.POSITIVE_INFINITY, all: { protocol } });
  const scan = answerScan(
    method,
    protocol,
    spreadSignals([
      marks,
      {
        onBody: (bytes) => {
          body.push(bytes);
        },
        onEvent: (event) => {
          events.push(event);
        },
      },
    ]),
  );
  const whole = (): Buffer => Buffer.concat(parts).subarray(0, scan.end());
  function kept(): KeptAnswer | undefined {
    const [head, kind] = [scan.head(), scan.body()];
    if (!head || !kind) return undefined;
    return { answer: { bytes: whole(), marks: marks.marks() }, head, kind, body: Buffer.concat(body), events };
  }
  return {
    scan,
    take: (bytes) => {
      parts.push(bytes);
      scan.feed(bytes);
    },
    bytes: whole,
    marks: marks.marks,
    kept,
    plan: (input) => {
      const answer = kept();
      if (!answer) throw new Error('a whole answer has a head');
      return keptPlan(answer, input);
    },
  };
}
