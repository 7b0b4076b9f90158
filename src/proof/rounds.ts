import type { Counters, SocketProbe } from './counters.js';

/**
 * Asks what became of the bytes of answers that have ended, on connections that go on. Nobody waits for that, and a
 * count of a connection tells of all answers before it; so one question serves all exchanges that have come since the
 * last, and all questions together take no more than a share of the time: a busy server has more answers to each
 * question, not more questions (a question costs 25 to 50 µs, an answer 30).
 */
export interface Rounds {
  /** The exchanges of one connection. */
  of(probe: SocketProbe): Line;
}

export interface Line {
  /** For at most `timeoutMs`. */
  ask(question: Question, timeoutMs: number): void;
}

/** One of a line, which is a chain of them: each exchange asks one, and nothing else is made for it. */
export interface Question {
  /** Bytes of the connection. */
  readonly target: number;
  /** The line's own, all three. */
  sinceMs: number;
  untilMs: number;
  after: Question | undefined;
  /**
   * Called once the client is known to have read `target` bytes of the connection (acknowledged them, where no more can
   * be known), the socket is gone, or the time is over; never within the turn in which it was asked.
   */
  answered(gone: boolean): void;
}

class Chain {
  first: Question | undefined;
  private last: Question | undefined;

  add(question: Question): void {
    question.after = undefined;
    if (this.last) this.last.after = question;
    else this.first = question;
    this.last = question;
  }

  /** All of it, each with the next. */
  take(): Question | undefined {
    const { first } = this;
    this.first = undefined;
    this.last = undefined;
    return first;
  }
}

interface Asked {
  readonly probe: SocketProbe;
  readonly questions: Chain;
  dueMs: number;
  intervalMs: number;
}

/** Clients on the same host have mostly read by the second or third question. */
const FIRST_INTERVAL_MS = 1;
const LONGEST_INTERVAL_MS = 32;
/** What a question may count for: a machine that is busy with others makes each look dear. */
const MAX_QUESTION_MS = 0.1;
/** A turn of the loop is not held up for longer. */
const BUDGET_MS = 4;
/** How much rest follows a round, as a multiple of what it took; less where somebody has waited for long. */
const REST = [
  { waitedMs: 0, times: 12 },
  { waitedMs: 100, times: 4 },
  { waitedMs: 400, times: 0.25 },
] as const;

export function rounds(): Rounds {
  let lines: Asked[] = [];
  let timer: NodeJS.Timeout | undefined;
  let wakeMs = Number.POSITIVE_INFINITY;
  let restUntilMs = 0;

  function wake(dueMs: number): void {
    const atMs = Math.max(dueMs, restUntilMs);
    if (atMs >= wakeMs) return;
    clearTimeout(timer);
    wakeMs = atMs;
    // At least a millisecond, in which the loop is left to others.
    timer = setTimeout(round, Math.max(1, Math.ceil(atMs - performance.now())));
  }

  function round(): void {
    wakeMs = Number.POSITIVE_INFINITY;
    const startMs = performance.now();
    const asked = lines;
    const late: Asked[] = [];
    lines = [];
    let oldestMs = startMs;
    let askingMs = 0;
    let count = 0;
    for (const line of asked) {
      const its = line.dueMs <= startMs && performance.now() - startMs <= BUDGET_MS;
      if (its) {
        count++;
        askingMs += ask(line);
      } else late.push(line);
      oldestMs = Math.min(oldestMs, line.questions.first?.sinceMs ?? startMs);
    }
    // Who was left is the first the next time.
    lines = [...late, ...lines];
    const endMs = performance.now();
    const rest = REST.findLast(({ waitedMs }) => endMs - oldestMs >= waitedMs)?.times ?? 0;
    restUntilMs = endMs + Math.min(askingMs, count * MAX_QUESTION_MS) * rest;
    if (lines.length > 0)
      wake(lines.reduce((earliest, { dueMs }) => Math.min(earliest, dueMs), Number.POSITIVE_INFINITY));
  }

  /** How long the question took: what is made of the answer, ledgers say, isn't its price. */
  function ask(line: Asked): number {
    const startMs = performance.now();
    const looked = line.probe.look();
    const tookMs = performance.now() - startMs;
    if (looked instanceof Promise) looked.then((counters) => judge(line, counters));
    else judge(line, looked);
    return tookMs;
  }

  function judge(line: Asked, counters: Counters | undefined): void {
    const nowMs = performance.now();
    const known = counters && (counters.read ?? counters.acked ?? counters.flushed);
    const over = new Chain();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let question = line.questions.take(), next: Question | undefined; question; question = next) {
      next = question.after;
      if (known === undefined || known >= question.target || nowMs >= question.untilMs) {
        over.add(question);
        continue;
      }
      line.questions.add(question);
      earliestMs = Math.min(earliestMs, question.untilMs);
    }
    if (line.questions.first) {
      line.dueMs = Math.min(nowMs + line.intervalMs, earliestMs);
      line.intervalMs = Math.min(line.intervalMs * 2, LONGEST_INTERVAL_MS);
      lines.push(line);
      wake(line.dueMs);
    }
    for (let question = over.take(), next: Question | undefined; question; question = next) {
      next = question.after;
      question.answered(counters === undefined);
    }
  }

  return {
    of: (probe) => {
      const line: Asked = { probe, questions: new Chain(), dueMs: 0, intervalMs: FIRST_INTERVAL_MS };
      return {
        ask: (question, timeoutMs) => {
          const nowMs = performance.now();
          const waits = line.questions.first !== undefined;
          question.sinceMs = nowMs;
          question.untilMs = nowMs + timeoutMs;
          line.questions.add(question);
          line.intervalMs = FIRST_INTERVAL_MS;
          line.dueMs = nowMs + FIRST_INTERVAL_MS;
          if (!waits) lines.push(line);
          wake(line.dueMs);
        },
      };
    },
  };
}
