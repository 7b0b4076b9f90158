import { bodyOf, headEnd } from '../../../src/fault/body-bytes.js';
import { type WirePlan, writtenUpTo } from '../../../src/fault/wire-plan.js';
import type { Mark } from '../../../src/sse/mark.js';
import { oddWith } from './event.js';
import { clipped, clippedInside } from './text.js';

/** The bytes of a plan in a few lines: the head in one, then each event, and what is odd about it. */

/** A line of the body: what its bytes are, what is odd about them, and what they say of the answer. */
interface Line {
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
  readonly name: string;
  readonly odd: string;
  readonly said: string;
}

const MOST_LINES = 10;
const LONGEST_LINE = 140;

/** Their values only repeat the seed and the time, or fill: the names are enough. */
const NAMES_ONLY = /^(.*-id|date|x-padding)$/i;

function textOf(plan: WirePlan, kind: Mark['kind']): string {
  const mark = plan.marks.find((one) => one.kind === kind);
  return mark ? plan.bytes.toString('latin1', mark.start, mark.end) : '';
}

function headerText(line: string): string {
  const name = line.slice(0, line.indexOf(':'));
  if (!NAMES_ONLY.test(name)) return clipped(line);
  return /padding/.test(name) ? `${name} of ${line.length} B` : name;
}

/** The status line and the headers, and their line ends where those are odd. */
function headLines(plan: WirePlan): string[] {
  const statusLine = textOf(plan, 'status_line');
  if (statusLine === '') return [];
  const headers = textOf(plan, 'headers');
  const end = statusLine.endsWith('\r\n') ? '\r\n' : statusLine.slice(-1);
  const lines = headers.split(end).filter((line) => line !== '');
  const odd = end === '\r\n' ? '' : ` (lines end in ${clipped(end)})`;
  const interim = plan.marks.filter(({ kind }) => kind === 'informational');
  const [first] = interim;
  return [
    ...(first ? [`${interim.length} x ${clipped(plan.bytes.toString('latin1', first.start, first.end))}`] : []),
    `${[clipped(statusLine.trimEnd()), ...lines.map(headerText)].join(' | ')}${odd}`,
  ];
}

const CONTENT: ReadonlySet<string> = new Set(['text', 'reasoning', 'refusal', 'tool_args']);
const STRANGE_ROLES: ReadonlySet<string> = new Set(['error', 'malformed', 'extra']);

const isItem = ({ kind }: Mark): boolean => kind === 'event' || kind === 'part';

/** The events of a stream, or the parts of a JSON body, in the order of the wire. */
function itemsOf(plan: WirePlan): Line[] {
  const contents = plan.marks.filter(({ kind }) => CONTENT.has(kind));
  const chunks = plan.marks.filter(({ kind }) => kind === 'chunk_data');
  const byStart = new Map(chunks.map((chunk) => [chunk.start, chunk]));
  const unframed = ({ start, end }: Mark): Buffer => {
    // Ten thousand events are in ten thousand chunks.
    if (chunks.length === 0 || byStart.get(start)?.end === end) return plan.bytes.subarray(start, end);
    const own = chunks.filter((chunk) => chunk.start < end && chunk.end > start);
    return Buffer.concat(
      own.map((chunk) => plan.bytes.subarray(Math.max(start, chunk.start), Math.min(end, chunk.end))),
    );
  };
  return plan.marks.filter(isItem).map((mark): Line => {
    const bytes = unframed(mark);
    const own = contents.filter(({ start, end }) => start >= mark.start && end <= mark.end);
    const name = mark.name ?? mark.role ?? '';
    const kinds = [...new Set(own.map(({ kind }) => kind).filter((kind) => kind !== 'text' && !name.includes(kind)))];
    const strange = STRANGE_ROLES.has(mark.role ?? '');
    const text = bytes.toString('utf8');
    const odd = mark.kind === 'event' ? oddWith(bytes, name, !strange) : strange ? [clippedInside(text)] : [];
    return {
      start: mark.start,
      end: mark.end,
      bytes: bytes.length,
      name: [name, ...kinds].join(' '),
      odd: odd.join(', '),
      said: own.map(({ start, end }) => plan.bytes.toString('utf8', start, end)).join(''),
    };
  });
}

function joined(lines: readonly Line[], name: string): Line {
  const [first] = lines;
  return {
    start: first?.start ?? 0,
    end: lines.at(-1)?.end ?? 0,
    bytes: lines.reduce((sum, { bytes }) => sum + bytes, 0),
    name,
    odd: first?.odd ?? '',
    said: lines.map(({ said }) => said).join(''),
  };
}

/** Runs of lines that `same` finds alike, each as one; none reaches over the cut. */
function folded(
  lines: readonly Line[],
  cut: number,
  same: (one: Line, other: Line) => boolean,
  name: (run: readonly Line[]) => string,
): Line[] {
  const runs: Line[][] = [];
  for (const line of lines) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const together = run && last && last.start < cut === line.start < cut && last.end <= cut === line.end <= cut;
    if (together && same(last, line)) run.push(line);
    else runs.push([line]);
  }
  return runs.map((run) => (run.length === 1 && run[0] ? run[0] : joined(run, name(run))));
}

const plain = ({ odd, said }: Line): boolean => odd === '' && said === '';

/** As few lines as there may be: repeated events are one, and where that isn't enough those that say nothing. */
function shortened(lines: readonly Line[], cut: number): Line[] {
  const repeated = folded(
    lines,
    cut,
    (one, other) => one.name === other.name && one.odd === other.odd,
    (run) => `${run.length} x ${run[0]?.name}`,
  );
  if (repeated.length <= MOST_LINES) return repeated;
  return folded(
    repeated,
    cut,
    (one, other) => plain(one) && plain(other),
    (run) => run.map(({ name }) => name).join(', '),
  );
}

function written({ bytes, name, odd, said }: Line): string {
  const words = [name, ...(said === '' ? [] : [`"${said}"`]), ...(odd === '' ? [] : [`(${odd})`])].join(' ');
  const text = words.length > LONGEST_LINE ? `${words.slice(0, LONGEST_LINE - 1)}…` : words;
  return `${String(bytes).padStart(7)}  ${text}`;
}

/** What of the chunks isn't one for each event with its true size. */
function chunkLines(plan: WirePlan): string[] {
  const sizes = plan.marks.filter(({ kind }) => kind === 'chunk_size');
  const data = plan.marks.filter(({ kind }) => kind === 'chunk_data');
  if (data.length === 0) return [];
  const events = plan.marks.filter(isItem);
  const usual = data.every(({ start, end }, n) => events[n]?.start === start && events[n]?.end === end);
  const lengths = data.map(({ start, end }) => end - start);
  const lies = sizes.flatMap(({ index, start, end }, n) => {
    const said = plan.bytes.toString('latin1', start, end - 2);
    return said === (lengths[n] ?? 0).toString(16) ? [] : [`chunk ${index} of ${lengths[n]} B says ${clipped(said)}`];
  });
  const others = usual
    ? []
    : [clipped(`${data.length === 1 ? '1 chunk' : `${data.length} chunks`}: ${lengths.join(' ')}`)];
  return [...others, ...lies].map((line) => `${''.padStart(7)}  ${line}`);
}

/** A line, and the bytes that it stands for. */
interface Row {
  readonly start: number;
  readonly end: number;
  /** What it is in a word or two. */
  readonly name: string;
  readonly text: string;
}

/** Bytes of the body that no event has; all of it, where there are none. */
function unmarkedOf(plan: WirePlan, items: readonly Line[]): Row[] {
  const body = bodyOf(plan).bytes;
  const missing = body.length - items.reduce((sum, { bytes }) => sum + bytes, 0);
  if (missing === 0) return [];
  const text = items.length === 0 ? clipped(body.toString('utf8'), 90) : 'in no event';
  const start = items.at(-1)?.end ?? headEnd(plan.marks);
  return [{ start, end: start + missing, name: 'body', text: `${String(missing).padStart(7)}  ${text}` }];
}

function lastChunkOf(plan: WirePlan): Row[] {
  const last = plan.marks.find(({ kind }) => kind === 'last_chunk');
  if (!last) return [];
  const text = clipped(plan.bytes.toString('latin1', last.start, last.end));
  return [{ ...last, name: 'last chunk', text: `${String(last.end - last.start).padStart(7)}  ${text}` }];
}

/** The whole wire; what stands behind the cut, and so isn't sent, in one line. */
export function wireLines(plan: WirePlan): string[] {
  const cut = writtenUpTo(plan);
  const head = headLines(plan).map((text): Row => ({ start: 0, end: headEnd(plan.marks), name: 'the head', text }));
  const items = itemsOf(plan);
  const lines = shortened(items, cut).map((line): Row => ({ ...line, text: written(line) }));
  const rows = [...head, ...lines, ...unmarkedOf(plan, items), ...lastChunkOf(plan)];
  const sent = rows.filter(({ start }) => start < cut).map(({ text }) => text);
  const unsent = rows
    .filter(({ end }) => end > cut)
    .map(({ start, name }) => (start < cut ? `the rest of ${name}` : name));
  const missing = `${String(plan.bytes.length - cut).padStart(7)}  unsent: ${unsent.join(', ') || 'a line end'}`;
  return [...sent, ...chunkLines(plan), ...(cut < plan.bytes.length ? ['✂'.padStart(7), missing] : [])];
}

/** The head alone: compressed bytes are those of the zlib at hand. */
export function compressedLines(plan: WirePlan): string[] {
  return [...headLines(plan), `${'?'.padStart(7)}  gzip`, ...lastChunkOf(plan).map(({ text }) => text)];
}
