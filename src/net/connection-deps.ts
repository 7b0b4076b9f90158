import type { BadRequest } from '../http/request.js';
import type { ConnectionRecorder } from '../proof/recorder.js';
import type { IdleEvent } from './idle.js';
import type { Handler } from './job.js';
import type { PlayHooks } from './play.js';
import type { ReaderDeps } from './request-reader.js';

/** What all connections of a server have in common. */
export interface ConnectionDeps extends ReaderDeps {
  readonly timeScale: PlayHooks['timeScale'];
  readonly gate: PlayHooks['gate'];
  onBad(bad: BadRequest): void;
  onIdle(event: IdleEvent, connection: number): void;
  /** A connection is closed; told last. */
  onClose(connection: Connection): void;
}

/** What each connection has of its own. */
export interface ConnectionParts {
  /** Its number. */
  readonly number: number;
  readonly recorder: ConnectionRecorder;
  readonly handler: Handler;
}

export interface Connection {
  /** Ends what is going on, now. */
  destroy(): void;
}
