import type { Socket } from 'node:net';
import type { WirePlan } from '../fault/wire-plan.js';
import type { ExchangeRecorder } from '../proof/recorder.js';
import type { Job } from './job.js';
import { pumpLines } from './live.js';
import { endsQuietly } from './plan-ends.js';
import type { Playback, PlayEnd, PlayHooks } from './play.js';
import { play } from './player.js';

/** Whether the connection can be used again after the plan. */
export function leavesOpen({ steps, closes }: WirePlan): boolean {
  return !closes && endsQuietly(steps);
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

/**
 * One job that is being played: what its player tells, passed on to the job and its recorder. Whoever plays the job
 * plays this, which lets go of the player where less of one will do.
 */
export class Answering implements PlayHooks, Playback {
  private readonly socket: Socket;
  private readonly job: Job;
  private readonly recorder: ExchangeRecorder;
  private readonly answerer: Answerer;
  /** Read of a request that was not looked at. */
  private readonly requestBytes: number;
  /** `undefined` where the job plays itself. */
  private playing: Playback | undefined;

  constructor(socket: Socket, job: Job, recorder: ExchangeRecorder, answerer: Answerer, requestBytes: number) {
    this.socket = socket;
    this.job = job;
    this.recorder = recorder;
    this.answerer = answerer;
    this.requestBytes = requestBytes;
  }

  playback(): Playback {
    const { socket, job } = this;
    if (job.play) return job.play(socket, this);
    this.playing = play(socket, job.plan, this);
    return this;
  }

  begin(): void {
    this.playing?.begin();
  }

  silent(): boolean {
    return this.playing?.silent() ?? false;
  }

  clientEnded(): void {
    this.playing?.clientEnded();
  }

  abort(by: 'client' | 'server'): void {
    this.playing?.abort(by);
  }

  get timeScale(): number {
    return this.answerer.timeScale;
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

  onRest(resting: Playback, taken: boolean): void {
    if (this.playing) this.playing = resting;
    this.job.onRest?.(taken);
  }

  onEnd(end: PlayEnd): void {
    const { answerer, job } = this;
    answerer.playEnded();
    job.onEnd?.(end, this.recorder, this.requestBytes);
    answerer.answered(end, job);
  }
}
