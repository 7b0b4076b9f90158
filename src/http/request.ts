/** One HTTP request as it was read. */
export interface Request {
  readonly method: string;
  /** The request target as it was sent. */
  readonly target: string;
  /** The target's path, without the query. */
  readonly path: string;
  readonly httpVersion: '1.0' | '1.1';
  /** Names in lower case; repeated headers are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** All bytes of the request as they were on the wire, where they were asked for. */
  readonly raw?: Buffer;
  /** Whether the client will use the connection again. */
  readonly keepAlive: boolean;
}

/** Why bytes are not a request that can be answered: the status to say so with, and one line for a person. */
export interface BadRequest {
  readonly status: 400 | 408 | 413 | 431 | 501 | 505;
  readonly reason: string;
}
