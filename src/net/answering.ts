import type { Socket } from 'node:net';
import type { WirePlan } from '../fault/wire-plan.js';
import type { ExchangeRecorder } from '../proof/recorder.js';
import type { Job } from './job.js';
import { pumpLines } from './live.js';
import { type Playback, type PlayEnd, type PlayHooks, play } from './player.js';

/** Whether the connection can be used again after the plan. */
export function leavesOpen({ steps, closes }: WirePlan): boolean {
  const end = steps.at(-1);
  return !closes && end?.op === 'teardown' && (end.kind === 'keep_alive' || end.kind === 'eof');
}

/** Who is told how an answer went, and knows what all answers have in common. */
export interface Answerer {
  readonly timeScale: number;
  gate: PlayHooks['gate'];
  /** Nothing of the answer is played any more. */
  playEnded(): void;
  /** Its job has been told, too. */
  answered(end: PlayEnd, job: Job): void;
}

/** One job that is being played: what its player tells, passed on to the job and its recorder. */
export class Answering implements PlayHooks {
  readonly timeScale: number;
  private readonly socket: Socket;
  private readonly job: Job;
  private readonly recorder: ExchangeRecorder;
  private readonly answerer: Answerer;
  /** Read of a request that was not looked at. */
  private readonly requestBytes: number;

  constructor(socket: Socket, job: Job, recorder: ExchangeRecorder, answerer: Answerer, requestBytes: number) {
    this.timeScale = answerer.timeScale;
    this.socket = socket;
    this.job = job;
    this.recorder = recorder;
    this.answerer = answerer;
    this.requestBytes = requestBytes;
  }

  playback(): Playback {
    const { socket, job } = this;
    return job.play ? job.play(socket, this) : play(socket, job.plan, this);
  }

  onWrite(segment: Buffer): void {
    this.job.onWrite?.(segment);
    const { lines } = this.job;
    // Behind this very write, which is the head.
    if (lines) queueMicrotask(() => void pumpLines(this.socket, lines));
  }

  settle({ until, timeoutMs }: Parameters<PlayHooks['settle']>[0], resume: () => void): void {
    this.recorder.settle(until, timeoutMs, resume);
  }

  gate(name: string, resume: () => void): () => void {
    return this.answerer.gate(name, resume);
  }

  beforeReset(): void {
    this.recorder.beforeTeardown();
    this.job.onTeardown?.();
  }

  beforeFin(): void {
    this.job.onTeardown?.();
  }

  onLast(): void {
    this.job.onLast?.();
  }

  onRest(): void {
    this.job.onRest?.();
  }

  onEnd(end: PlayEnd): void {
    const { answerer, job } = this;
    answerer.playEnded();
    job.onEnd?.(end, this.recorder, this.requestBytes);
    answerer.answered(end, job);
  }
}
