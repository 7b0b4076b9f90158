/** An independent reader of HTTP/1.1 answers (RFC 9112), for tests. It takes what is there and says what is missing. */
export interface Answer {
  readonly status: number;
  /** Names in lower case, in the order of the wire. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Chunk sizes in the order of the wire; empty where the body isn't chunked. */
  readonly chunks: readonly number[];
  /** Whether the framing says that this is all. */
  readonly complete: boolean;
  /** Bytes behind this answer. */
  readonly rest: Buffer;
}

/** `undefined` while the head isn't whole. */
export function readAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  const headers = lines.map((line) => {
    const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(line) ?? [];
    return [name.toLowerCase(), value] as const;
  });
  const header = (name: string): string | undefined => headers.find(([known]) => known === name)?.[1];
  const after = bytes.subarray(headEnd + 4);
  if (status === 204 || status === 100) {
    return { status, headers, body: Buffer.alloc(0), chunks: [], complete: true, rest: after };
  }
  if (header('transfer-encoding') === 'chunked') return { status, headers, ...readChunks(after) };
  const length = header('content-length');
  if (length === undefined) {
    return { status, headers, body: after, chunks: [], complete: false, rest: Buffer.alloc(0) };
  }
  const wanted = Number(length);
  return {
    status,
    headers,
    body: after.subarray(0, wanted),
    chunks: [],
    complete: after.length >= wanted,
    rest: after.subarray(wanted),
  };
}

function readChunks(bytes: Buffer): Pick<Answer, 'body' | 'chunks' | 'complete' | 'rest'> {
  const parts: Buffer[] = [];
  const chunks: number[] = [];
  let at = 0;
  const cut = (): Pick<Answer, 'body' | 'chunks' | 'complete' | 'rest'> => ({
    body: Buffer.concat(parts),
    chunks,
    complete: false,
    rest: Buffer.alloc(0),
  });
  while (true) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return cut();
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    at = lineEnd + 2;
    if (size === 0) {
      // Trailers, if any, and an empty line (RFC 9112, section 7.1.2).
      const end = bytes.indexOf('\r\n\r\n', at - 2);
      if (end < 0) return cut();
      return { body: Buffer.concat(parts), chunks, complete: true, rest: bytes.subarray(end + 4) };
    }
    parts.push(bytes.subarray(at, at + size));
    if (bytes.length < at + size + 2) return cut();
    chunks.push(size);
    at += size + 2;
  }
}

/** The value of a header, or `undefined`. */
export function headerOf(answer: Answer, name: string): string | undefined {
  return answer.headers.find(([known]) => known === name)?.[1];
}
