import { rounded } from '../proof/account.js';
import type { UpstreamAccount } from '../proof/ledger.js';
import type { Upstream, UpstreamConnection, UpstreamFailure } from './upstream.js';

/** One exchange as its upstream sees it: the request goes up, the answer comes down, and it is written down how. */
export interface UpstreamSide {
  pause(): void;
  resume(): void;
  /** The client has ended its sending side, and so do we. */
  halfClose(): void;
  /** The answer is whole. `reusable`: the connection may be used again. */
  done(reusable: boolean): void;
  /** Nothing more of the answer is wanted. */
  drop(): void;
  /** Bytes that came. */
  received(): number;
  account(): Omit<UpstreamAccount, 'sha256' | 'status' | 'buffered' | 'rewritten' | 'unmarkedEvents'>;
}

/** Why no more of an answer comes. */
export interface UpstreamOver {
  readonly kind: UpstreamFailure['kind'] | 'fin';
  readonly message: string;
}

export interface UpstreamSideEvents {
  onData(bytes: Buffer): void;
  onOver(over: UpstreamOver): void;
}

/** Whoever records what an upstream answers. */
export interface UpstreamTap {
  /** The request goes up, perhaps for a second time. */
  sent(): void;
  data(bytes: Buffer): void;
  /** Told once; `kept` and `dropped` are the proxy's own doing. */
  ended(end: UpstreamAccount['end']): void;
}

/** Sends a request up, at once. */
export function askUpstream(
  upstream: Upstream,
  request: Buffer,
  events: UpstreamSideEvents,
  tap?: UpstreamTap,
): UpstreamSide {
  const startMs = performance.now();
  const { target } = upstream;
  let end: UpstreamAccount['end'] | undefined;
  let error: string | null = null;
  let address: string | null = null;
  let connectMs: number | null = null;
  let ttfbMs: number | null = null;
  let received = 0;
  let retried = false;
  let halfClosed = false;
  let paused = false;
  let connection = take(false);

  function take(fresh: boolean): UpstreamConnection {
    return upstream.take(
      {
        onConnect: () => {
          connectMs = rounded(performance.now() - startMs);
          address = connection.address() ?? null;
          tap?.sent();
          connection.write(request);
          if (halfClosed) connection.end();
        },
        onData: (bytes) => {
          ttfbMs ??= rounded(performance.now() - startMs);
          received += bytes.length;
          if (end === undefined) tap?.data(bytes);
          events.onData(bytes);
        },
        onFin: () => over({ kind: 'fin', message: 'the upstream closed the connection' }),
        onFailure: over,
      },
      fresh,
    );
  }

  function endBy(what: UpstreamAccount['end']): void {
    end = what;
    tap?.ended(what);
  }

  function over(what: UpstreamOver): void {
    if (end !== undefined) return;
    // A kept connection that ends before any answer had most likely ended before the request came to it.
    if (connection.reused && received === 0 && what.kind !== 'timeout') {
      connection.destroy();
      retried = true;
      connection = take(true);
      if (paused) connection.pause();
      return;
    }
    endBy(what.kind);
    error = what.kind === 'fin' ? null : what.message;
    events.onOver(what);
    connection.destroy();
  }

  return {
    pause: () => {
      paused = true;
      connection.pause();
    },
    resume: () => {
      paused = false;
      connection.resume();
    },
    halfClose: () => {
      halfClosed = true;
      if (connectMs !== null && end === undefined) connection.end();
    },
    done: (reusable) => {
      if (end !== undefined) return;
      const keeps = reusable && !halfClosed;
      endBy(keeps ? 'kept' : 'dropped');
      if (keeps) connection.release();
      else connection.destroy();
    },
    drop: () => {
      if (end !== undefined) return;
      endBy('dropped');
      connection.destroy();
    },
    received: () => received,
    account: () => ({
      url: target.url,
      address,
      reused: connection.reused,
      retried,
      connectMs,
      ttfbMs,
      bytes: received,
      end: end ?? 'dropped',
      error,
    }),
  };
}
