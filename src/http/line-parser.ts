import { HTTPParser } from 'http-parser-js';

/** What our readers of HTTP need of http-parser-js that its types keep private. */

/** Each complete line passes through `consumeLine`; offsets are those of the bytes that are being fed. */
export interface LineParser {
  consumeLine(): string | undefined;
  readonly state: string;
  /** What has come of a line that isn't complete. */
  readonly line: string;
  readonly offset: number;
  isChunked: boolean;
  /** Of the body that is to come; `null`: it has no length. */
  body_bytes: number | null;
}

// Header values are octets (RFC 9110, section 5.5); `ascii` would clear their high bit.
HTTPParser.encoding = 'latin1';
// Its own count takes bytes of bodies for bytes of heads; ours doesn't.
HTTPParser.maxHeaderSize = Number.POSITIVE_INFINITY;

type HTTPParserJS = InstanceType<typeof HTTPParser>;

function linesOf(parser: HTTPParserJS): LineParser {
  return parser as unknown as LineParser;
}

/** `onLine` sees each line once it is complete, in the state that it is read in; what it throws ends the parse. */
export function watchLines(parser: HTTPParserJS, onLine: (state: string, line: string) => void): LineParser {
  const lines = linesOf(parser);
  const consumeLine = lines.consumeLine;
  lines.consumeLine = function (this: LineParser) {
    const line = consumeLine.call(this);
    if (line !== undefined) onLine(this.state, line);
    return line;
  };
  return lines;
}

export const CHUNK_LINE = /^[0-9a-f]+[ \t]*(;.*)?$/i;
