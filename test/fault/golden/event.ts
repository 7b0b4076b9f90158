import { clipped, clippedInside } from './text.js';

/** What is odd about the bytes of an event, in words. By itself an event is of LF lines, `name: value`, one of data, JSON. */

const LINE = /([^\r\n]*)(\r\n|\n|\r|$)/g;
const END_NAMES: Readonly<Record<string, string>> = { '\n': 'LF', '\r\n': 'CRLF', '\r': 'CR' };
const BOM = '\ufeff';
const KNOWN_FIELDS: ReadonlySet<string> = new Set(['event', 'data', 'id', 'retry']);

interface EventLine {
  readonly field: string;
  readonly value: string;
  readonly text: string;
}

function lineOf(text: string): EventLine {
  const colon = text.indexOf(':');
  return { field: colon < 0 ? '' : text.slice(0, colon), value: colon < 0 ? '' : text.slice(colon + 1), text };
}

function spoken({ value }: EventLine): string {
  return value.startsWith(' ') ? value.slice(1) : value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function endsOf(text: string): { readonly ends: readonly string[]; readonly blank: boolean } {
  const found = Array.from(text.matchAll(LINE), ([, line = '', end = '']) => ({ line, end })).filter(
    ({ line, end }) => line !== '' || end !== '',
  );
  const names = found.map(({ end }) => END_NAMES[end] ?? 'no line end');
  return { ends: [...new Set(names)], blank: found.at(-1)?.line === '' };
}

function oddEnds(text: string): string[] {
  const { ends, blank } = endsOf(text);
  return [...(ends.join() === 'LF' ? [] : [ends.join(' ')]), ...(blank ? [] : ['no blank line'])];
}

/** A reason that the answer gives for its end, which other events of the name don't have. */
const REASON = /"(?:finish_reason|stop_reason|reason)": ?"(\w+)"/;

function oddData(lines: readonly EventLine[], isOwn: boolean): string[] {
  const data = lines.filter(({ field }) => field === 'data');
  if (data.length === 0) return ['no data'];
  const text = data.map(spoken).join('\n');
  const reason = REASON.exec(text)?.[1];
  const strange = text !== '[DONE]' && (!isOwn || !isJson(text));
  return [
    ...(data.length > 1 ? [`${data.length} data lines`] : []),
    ...(reason ? [reason] : []),
    ...(strange ? [`data ${clippedInside(text)}`] : []),
  ];
}

/** `name`: what the plan calls the event. `isOwn`: it belongs to a healthy stream of its dialect. */
export function oddWith(bytes: Buffer, name: string, isOwn: boolean): string[] {
  const text = bytes.toString('utf8');
  const lines = text
    .replace(/^\ufeff+/, '')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '')
    .map(lineOf);
  const event = lines.find(({ field }) => field === 'event');
  const tight = lines.some(({ field, value }) => KNOWN_FIELDS.has(field) && value !== '' && !value.startsWith(' '));
  const comments = lines.filter(({ text: line }) => line.startsWith(':'));
  const others = lines.filter(({ field, text: line }) => !KNOWN_FIELDS.has(field) && !line.startsWith(':'));
  return [
    ...(text.startsWith(BOM) ? ['BOM'] : []),
    ...(bytes.equals(Buffer.from(text)) ? [] : ['not UTF-8']),
    ...(event && spoken(event) !== name ? [`event ${clipped(spoken(event))}`] : []),
    ...comments.map(({ text: line }) => (line.length > 40 ? `comment of ${line.length} B` : clipped(line))),
    ...others.map(({ text: line }) => `line ${clipped(line)}`),
    ...lines.filter(({ field }) => field === 'id' || field === 'retry').map(({ text: line }) => clipped(line)),
    ...(tight ? ['no space'] : []),
    ...oddData(lines, isOwn),
    ...oddEnds(text),
  ];
}
