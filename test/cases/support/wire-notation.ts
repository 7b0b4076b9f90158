/**
 * The bytes of an answer in the notation of the cases, so that a test can say in one line what came, to the last byte:
 *
 * | | |
 * |---|---|
 * | `H(1.1 200 chunked keep-alive)` | the head: version, status, framing headers, Connection |
 * | `C(role+txt)` | a whole chunk, and the events in it |
 * | `P(40,25)` | a chunk that announces 40 bytes, and 25 of them; `P(40,40)`: without the CRLF behind them |
 * | `S(1)` | a size line that breaks off, or is no number: what stands there |
 * | `T` | the last chunk, `0` CRLF CRLF; `T(0\r\nX-T: a)` what there is of it |
 * | `R(role+txt)` | a body without chunks |
 *
 * Strict, and knows nothing of wirefault: what fits nowhere is an error.
 */
export interface WireAnswer {
  readonly statusLine: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export function answerOf(bytes: Buffer): WireAnswer {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no whole head: ${JSON.stringify(bytes.toString('latin1'))}`);
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const;
  });
  return { statusLine, headers, body: bytes.subarray(end + 4) };
}

export function headerOf({ headers }: WireAnswer, name: string): string | undefined {
  const found = headers.filter(([other]) => other === name).map(([, value]) => value);
  return found.length > 0 ? found.join(', ') : undefined;
}

function headText(answer: WireAnswer): string {
  const [, version = '?', status = '?'] = /^HTTP\/(\S+) (\d+) /.exec(answer.statusLine) ?? [];
  const length = headerOf(answer, 'content-length');
  const told = [
    version,
    status,
    headerOf(answer, 'transfer-encoding'),
    length === undefined ? undefined : `length=${length}`,
    headerOf(answer, 'connection'),
    headerOf(answer, 'content-encoding'),
  ];
  return `H(${told.filter((one) => one !== undefined).join(' ')})`;
}

export interface WireChunk {
  /** Of the size line; `undefined` where it has no end, or is no number. */
  readonly size: number | undefined;
  readonly sizeLine: string;
  readonly data: Buffer;
  readonly whole: boolean;
}

/** The chunks of a body, the last one included as far as it came: it has the size 0, and as data what follows its line. */
export function chunksOf(body: Buffer): readonly WireChunk[] {
  const chunks: WireChunk[] = [];
  let at = 0;
  while (at < body.length) {
    const lineEnd = body.indexOf('\r\n', at);
    const sizeLine = body.toString('latin1', at, lineEnd < 0 ? body.length : lineEnd);
    const size = lineEnd >= 0 && /^[0-9a-f]+$/.test(sizeLine) ? Number.parseInt(sizeLine, 16) : undefined;
    const start = lineEnd + 2;
    if (size === undefined || size === 0) {
      const data = lineEnd < 0 ? Buffer.alloc(0) : body.subarray(start);
      chunks.push({ size, sizeLine, data, whole: size === 0 && data.equals(Buffer.from('\r\n')) });
      return chunks;
    }
    const whole = body.toString('latin1', start + size, start + size + 2) === '\r\n';
    chunks.push({ size, sizeLine, data: body.subarray(start, start + size), whole });
    if (!whole) {
      if (body.length > start + size) throw new Error(`no CRLF behind the ${size} bytes of chunk ${chunks.length}`);
      return chunks;
    }
    at = start + size + 2;
  }
  return chunks;
}

function chunkText({ size, sizeLine, data, whole }: WireChunk): string {
  if (size === undefined) return `S(${sizeLine})`;
  if (size === 0) return whole ? 'T' : `T(${JSON.stringify(`0\r\n${data.toString('latin1')}`).slice(1, -1)})`;
  return whole ? `C(${eventsText(data)})` : `P(${size},${data.length})`;
}

/** `4*x` stands for four of one kind, one behind the other. */
function joined(names: readonly string[]): string {
  const runs: { name: string; count: number }[] = [];
  for (const name of names) {
    const last = runs.at(-1);
    if (last?.name === name) last.count++;
    else runs.push({ name, count: 1 });
  }
  return runs.map(({ name, count }) => (count > 1 ? `${count}*${name}` : name)).join('+');
}

/** The events of a piece of a stream by their short names; what isn't a whole event is told as it stands there. */
function eventsText(bytes: Buffer): string {
  const blocks = bytes.toString('utf8').split(/(?<=\n\n)/);
  return joined(
    blocks.map((block) => (block.endsWith('\n\n') ? nameOf(block) : `${JSON.stringify(block.slice(0, 9))}…`)),
  );
}

const SHORT: Readonly<Record<string, string>> = {
  message_start: 'ms',
  content_block_start: 'cbs',
  content_block_delta: 'cbd',
  content_block_stop: 'cbe',
  message_delta: 'md',
  message_stop: 'mstop',
};

function nameOf(block: string): string {
  const data = /^data: ?(.*)$/m.exec(block)?.[1];
  // Without data, or without any in it, the block itself is what matters.
  if (data === undefined || data === '') return block.length > 20 ? `comment[${block.length}]` : block.trimEnd();
  if (data === '[DONE]') return data;
  const { type, choices } = JSON.parse(data) as {
    type?: string;
    choices?: { delta?: { role?: string; content?: string }; finish_reason?: string | null }[];
  };
  if (type !== undefined) return SHORT[type] ?? type;
  const [choice] = choices ?? [];
  if (choice?.finish_reason) return 'fin';
  return choice?.delta?.role ? 'role' : 'txt';
}

export function notationOf(bytes: Buffer): string {
  if (bytes.length === 0) return '';
  const answer = answerOf(bytes);
  if (headerOf(answer, 'transfer-encoding') !== 'chunked') {
    return [headText(answer), ...(answer.body.length > 0 ? [`R(${eventsText(answer.body)})`] : [])].join(' ');
  }
  return [headText(answer), ...chunksOf(answer.body).map(chunkText)].join(' ');
}

/** The text of the deltas in a piece of a Chat stream or a Messages stream. */
export function textIn(stream: string): string {
  return [...stream.matchAll(/"(?:content|text)":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json = '""']) => JSON.parse(json) as string)
    .join('');
}
