import type { WirePlan } from '../fault/wire-plan.js';
import type { Protocol } from '../sse/dialect.js';
import { type AnswerScan, answerScan, type SeenEvent } from './answer-scan.js';
import { type KeptInput, keptPlan } from './kept-answer.js';
import { markKeeper } from './mark-keeper.js';
import { spreadSignals } from './spread-signals.js';

/** Keeps an answer until it is whole. */
export interface Keeping {
  readonly scan: AnswerScan;
  take(bytes: Buffer): void;
  /** All that came of the answer. */
  readonly bytes: Buffer;
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
  const whole = (): Buffer => Buffer.concat(parts).subarray(0, scan.end);
  return {
    scan,
    take: (bytes) => {
      parts.push(bytes);
      scan.feed(bytes);
    },
    get bytes() {
      return whole();
    },
    plan: (input) => {
      const { head } = scan;
      if (!head || !scan.body) throw new Error('a whole answer has a head');
      const answer = { bytes: whole(), marks: marks.marks() };
      return keptPlan({ answer, head, kind: scan.body, body: Buffer.concat(body), events }, input);
    },
  };
}
