/** An independent reader of event streams, for tests: "Interpreting an event stream" of WHATWG HTML, section 9.2.6, to the letter. */
export interface ReadEvent {
  /** `message` where nothing else was said. */
  readonly type: string;
  readonly data: string;
  /** The last id that was said, by this event or one before it. */
  readonly lastEventId: string;
}

export interface ReadStream {
  readonly events: readonly ReadEvent[];
  readonly comments: readonly string[];
  /** What valid `retry` lines said. */
  readonly retries: readonly number[];
  /** Whether the stream ends in the middle of an event, which is dropped. */
  readonly pending: boolean;
}

export function readStream(bytes: Buffer): ReadStream {
  // One byte order mark is stripped by the decoder.
  const text = new TextDecoder('utf-8', { ignoreBOM: false }).decode(bytes);
  const lines = text.split(/\r\n|\n|\r/);
  // What stands behind the last line end is no line.
  const unfinished = lines.pop() ?? '';
  const events: ReadEvent[] = [];
  const comments: string[] = [];
  const retries: number[] = [];
  let type = '';
  let data = '';
  let lastEventId = '';
  const field = (name: string, value: string): void => {
    if (name === 'event') type = value;
    if (name === 'data') data += `${value}\n`;
    if (name === 'id' && !value.includes('\0')) lastEventId = value;
    if (name === 'retry' && /^[0-9]+$/.test(value)) retries.push(Number(value));
  };
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push({ type: type || 'message', data: data.slice(0, -1), lastEventId });
      type = '';
      data = '';
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) comments.push(line.slice(1));
    else if (colon < 0) field(line, '');
    else field(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''));
  }
  return { events, comments, retries, pending: data !== '' || unfinished !== '' };
}
