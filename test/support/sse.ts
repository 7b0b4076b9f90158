/** An independent reader of event streams as the standard has it (WHATWG HTML, section 9.2.6), for tests. */
export interface ReadEvent {
  /** The last `event` field; absent where there was none, or an empty one. */
  readonly event?: string;
  readonly data: string;
}

export function readEvents(body: Buffer): ReadEvent[] {
  // One byte order mark is taken away, and what isn't UTF-8 becomes U+FFFD: both as the decoder does it by itself.
  const lines = new TextDecoder().decode(body).split(/\r\n|\n|\r/);
  // What stands behind the last line end is no line.
  lines.pop();
  const events: ReadEvent[] = [];
  let name = '';
  let data = '';
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push({ ...(name === '' ? {} : { event: name }), data: data.slice(0, -1) });
      name = '';
      data = '';
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    if (field === 'data') data += `${value}\n`;
  }
  return events;
}

/** The events in the form that all providers have. Data over several lines is JSON, broken where white space may be. */
export function plainly(events: readonly ReadEvent[]): Buffer {
  const text = events.map(({ event, data }) => {
    const named = event === undefined ? '' : `event: ${event}\n`;
    return `${named}data: ${data.replaceAll('\n', '')}\n\n`;
  });
  return Buffer.from(text.join(''));
}
