/** A request's line and headers. */
export interface RequestHead {
  readonly method: string;
  /** The request target as it was sent. */
  readonly target: string;
  /** The target's path, without the query. */
  readonly path: string;
  readonly httpVersion: '1.0' | '1.1';
  /** Names in lower case; repeated headers are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the client will use the connection again. */
  readonly keepAlive: boolean;
  /** The client waits for a 100 before it sends the body (RFC 9110, section 10.1.1). */
  readonly expectsContinue: boolean;
}

/** One HTTP request as it was read. */
export interface Request extends RequestHead {
  readonly body: Buffer;
  /** All bytes of the request as they were on the wire, where they were asked for. */
  readonly raw?: Buffer | undefined;
}

/** Written out, since each request is made so: a spread with more behind it costs half a microsecond (measured). */
export function requestOf(head: RequestHead, body: Buffer, raw: Buffer | undefined): Request {
  const { method, target, path, httpVersion, headers, keepAlive, expectsContinue } = head;
  return { method, target, path, httpVersion, headers, keepAlive, expectsContinue, body, raw };
}

/** By their headers, which are one object for all requests with the same head bytes (KnownHeads). */
const heads = new WeakMap<RequestHead['headers'], RequestHead>();

/** The head alone, for those who keep it without the body: one object for all requests of one head. */
export function headOf(request: RequestHead): RequestHead {
  const { method, target, path, httpVersion, headers, keepAlive, expectsContinue } = request;
  const known = heads.get(headers);
  if (known) return known;
  const head = { method, target, path, httpVersion, headers, keepAlive, expectsContinue };
  heads.set(headers, head);
  return head;
}

/** Why bytes are not a request that can be answered: the status to say so with, and one line for a person. */
export interface BadRequest {
  readonly status: 400 | 408 | 413 | 431 | 501 | 505;
  readonly reason: string;
}
