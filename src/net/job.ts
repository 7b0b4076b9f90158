import type { Socket } from 'node:net';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import type { Later } from '../later.js';
import type { ExchangeRecorder } from '../proof/recorder.js';
import type { Playback, PlayEnd, PlayHooks } from './play.js';

/** What a connection is told to answer, and who tells it. */
export interface Job {
  readonly plan: WirePlan;
  /** Plays what comes from somewhere else, instead of the plan; the end tells the plan that it came to be. */
  readonly play?: ((socket: Socket, hooks: PlayHooks) => Playback) | undefined;
  /** Lines that follow the plan, as they come; the plan ends in silence then. */
  readonly lines?: AsyncIterableIterator<string>;
  onLast?(): void;
  onWrite?(segment: Buffer): void;
  /** Just before a reset or a FIN of the plan's. */
  onTeardown?(): void;
  /** Nothing more is written, and the end is somebody else's. `taken`: the kernel has all that was. */
  onRest?(taken: boolean): void;
  /** `requestBytes` were read of a request that was not looked at. */
  onEnd?(end: PlayEnd, recorder: ExchangeRecorder, requestBytes: number): void;
}

/** A job that doesn't wait for a request: it begins once so many bytes of it were read. */
export interface EarlyJob extends Job {
  readonly requestBytes: number;
}

/** What is done about a request whose head has come: read on, read on without the 100 that it waits for, or answer now. */
export type HeadDecision = 'read' | 'withhold' | Job;

/** Asked only where it matters: a socket keeps what it was asked for. */
export type ClientAddress = Pick<Socket, 'remoteAddress'>;

/** Who decides what the requests of a connection get. What is decided later is waited for; promises never reject. */
export interface Handler {
  /** Asked when a connection is accepted, and at the first byte of each later request. */
  early(): Later<EarlyJob | undefined>;
  head(head: RequestHead): Later<HeadDecision>;
  request(request: Request): Later<Job>;
}
