import { errnoOf } from '../errors.js';

/**
 * How an answer ended, as the client saw it. What was on the wire is another matter: Node may tell a RST as an end and a
 * FIN as ECONNRESET, so the server's ledgers or a capture have the last word on that.
 */
export const ENDS = {
  complete: 'the terminal came, and the body ended (without a stream: the JSON was whole)',
  no_terminal: 'the body ended as HTTP has it, and the terminal had not come',
  api_error: 'a 200 that told an error: as an event, as response.failed, or as the JSON',
  malformed: 'no HTTP, or an event (without a stream: a body) that is no JSON',
  closed: 'the connection ended within the answer',
  reset: 'the connection failed within the answer',
  timeout: 'nothing came for --timeout-ms',
  refused: 'the connection was refused',
  connect_failed: 'no connection for another reason: name, route, TLS',
  stopped: 'open when --duration was over, or at Ctrl-C',
} as const satisfies Readonly<Record<string, string>>;

type FixedEnd = keyof typeof ENDS;
export const FIXED_ENDS = Object.keys(ENDS) as readonly FixedEnd[];

/** `http_503`: an answer with another status than 2xx, whose body ended. */
export type EndKind = FixedEnd | `http_${number}`;

/** How the connection ended what the answer had not. */
export type BrokenEnd = 'malformed' | 'closed' | 'reset' | 'timeout' | 'refused' | 'connect_failed' | 'stopped';

/** Whether the answer is one that the caller can use, or nobody's fault. */
export function isGood(kind: string): boolean {
  return kind === 'complete' || kind === 'stopped';
}

/** What the socket itself told of its end, before the HTTP client made words of its own of it. */
export interface SocketEnd {
  /** Its readable side ended: a FIN, as far as Node tells. */
  readonly ended: boolean;
  /** The system error that it failed with. */
  readonly errno: string | undefined;
}

/** The client's own word for "nothing came for so long". */
export const TIMED_OUT = 'WIREFAULT_TIMEOUT';

/** Of an error before there was a connection. */
export function connectEnd(error: unknown): BrokenEnd {
  const code = errnoOf(error);
  if (code === 'ECONNREFUSED') return 'refused';
  return code === TIMED_OUT || code === 'ETIMEDOUT' ? 'timeout' : 'connect_failed';
}

/** The parser's error for an answer that the connection's end has cut: it isn't malformed, there is too little of it. */
const CUT_OFF = 'HPE_INVALID_EOF_STATE';

/** Of an error within an exchange. */
export function brokenEnd(error: unknown, socket: SocketEnd): BrokenEnd {
  const code = errnoOf(error) ?? '';
  if (code === TIMED_OUT) return 'timeout';
  if (code.startsWith('HPE_') && code !== CUT_OFF) return 'malformed';
  if (socket.errno === 'ETIMEDOUT') return 'timeout';
  if (socket.errno !== undefined) return 'reset';
  return socket.ended ? 'closed' : 'malformed';
}
