import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf, WirefaultError } from '../errors.js';
import { grouped, type Paint, plural, printable } from '../proof/paint.js';
import { addressOf, requestBytes, witness } from '../proof/witness.js';
import { receivedBytes, type WitnessEnd, type WitnessRecord, witnessFile } from '../proof/witness-record.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { bytesOf, collect, headerOf, wholeNumber } from './values.js';

interface WitnessFlags {
  readonly body?: string;
  readonly header?: readonly string[];
  readonly method?: string;
  readonly raw?: string;
  readonly out?: string;
  readonly readBytesPerSecond?: string;
  readonly pauseAtBytes?: string;
  readonly pauseMs?: string;
  readonly halfClose?: true;
  readonly timeoutMs: string;
  readonly json?: true;
}

const DEFAULT_TIMEOUT_MS = 60_000;

const HELP = `
The request is on a connection of its own, with "Connection: close" unless --header says otherwise.
How it can end: fin, rst (the server's doing), timeout, closed (its own, at the limit or by Ctrl-C), refused.
The file of --out has JSON lines: what was asked, each read with its time (base64), and the end.
Exit code: 0 with an end, 1 without a connection, 2 for wrong usage.`;

/** `wirefault witness`: a raw client that stores every byte and how the connection ended. */
export function addWitnessCommand(root: Command, output?: CommandOutput): void {
  root
    .command('witness')
    .description('ask a URL with a raw client: every byte with its time, and how the connection ended')
    .argument('<url>', 'http:// only; with --raw only its host and port count')
    .option('--body <file>', 'body of the request, JSON as a rule; - for stdin')
    .option('--header <"Name: value">', 'a header of the request; may be given again', collect)
    .option('--method <name>', 'default: POST with a body, else GET')
    .option('--raw <file>', 'the whole request as it goes on the wire; - for stdin')
    .option('--out <file>', 'where the record goes, for wirefault verify')
    .option('--read-bytes-per-second <n>', 'read no faster')
    .option('--pause-at-bytes <n>', 'stop reading once n bytes have come')
    .option('--pause-ms <n>', 'for so long; without it for ever')
    .option('--half-close', 'shut the sending side after the request')
    .option('--timeout-ms <n>', 'time for all of it; 0: no limit', String(DEFAULT_TIMEOUT_MS))
    .option('--json', 'JSON, on a terminal too')
    .addHelpText('after', HELP)
    .action(async (url: string, flags: WitnessFlags) => {
      const to = output ?? processOutput();
      const record = await ask(urlOf(url), flags);
      if (flags.out !== undefined) await store(flags.out, record);
      const json = flags.json === true || to.out.isTTY !== true;
      await print(to, json ? `${JSON.stringify(summaryOf(record))}\n` : told(record, paintOf(to)));
      if (record.local.port === null) process.exitCode = 1;
    });
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new WirefaultError('bad_option', `witness: ${JSON.stringify(text)} is not allowed; expected an http:// URL`);
}

async function requestOf(url: URL, flags: WitnessFlags): Promise<Buffer> {
  const { body, header = [], method, raw } = flags;
  if (raw !== undefined) {
    const others = { body, method, header: flags.header };
    const other = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
    if (other === undefined) return bytesOf('--raw', raw);
    throw new WirefaultError('bad_option', `--${other}: has no meaning with --raw, which is the whole request`);
  }
  if (method !== undefined && !/^[A-Za-z-]+$/.test(method)) {
    throw new WirefaultError('bad_option', `--method: ${JSON.stringify(method)} is not allowed; expected a word`);
  }
  return requestBytes({
    url,
    headers: header.map(headerOf),
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body: await bytesOf('--body', body) }),
  });
}

async function ask(url: URL, flags: WitnessFlags): Promise<WitnessRecord> {
  const readBytesPerSecond = wholeNumber('--read-bytes-per-second', flags.readBytesPerSecond, 1);
  const pauseAtBytes = wholeNumber('--pause-at-bytes', flags.pauseAtBytes, 0);
  const pauseMs = wholeNumber('--pause-ms', flags.pauseMs, 0);
  const timeoutMs = wholeNumber('--timeout-ms', flags.timeoutMs, 0) ?? DEFAULT_TIMEOUT_MS;
  if (pauseMs !== undefined && pauseAtBytes === undefined) {
    throw new WirefaultError('bad_option', '--pause-ms: has no meaning without --pause-at-bytes');
  }
  const request = await requestOf(url, flags);
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    return await witness({
      ...addressOf(url),
      url: url.href,
      request,
      halfClose: flags.halfClose === true,
      timeoutMs,
      signal: interrupted.signal,
      ...(readBytesPerSecond === undefined ? {} : { readBytesPerSecond }),
      ...(pauseAtBytes === undefined ? {} : { pauseAtBytes }),
      ...(pauseMs === undefined ? {} : { pauseMs }),
    });
  } finally {
    process.off('SIGINT', interrupt);
  }
}

async function store(path: string, record: WitnessRecord): Promise<void> {
  try {
    await writeFile(path, witnessFile(record));
  } catch (thrown) {
    throw new WirefaultError('witness_failed', `--out: can't write ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function summaryOf(record: WitnessRecord) {
  const { segments, ...rest } = record;
  const bytes = receivedBytes(record);
  return {
    ...rest,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    reads: segments.length,
    firstByteMs: segments[0]?.atMs ?? null,
  };
}

const MEANING: Readonly<Record<WitnessEnd, string>> = {
  fin: 'the server closed the connection',
  rst: 'the server reset the connection',
  timeout: 'the connection was open at the time limit',
  refused: 'the connection was refused',
  closed: 'the connection was open when the witness was stopped',
};

function told(record: WitnessRecord, paint: Paint): string {
  const { end, atMs, segments, local, stopped } = record;
  const bytes = receivedBytes(record);
  const meaning = local.port === null && end === 'timeout' ? 'there was no connection by the time limit' : MEANING[end];
  const unread = stopped ? ', while nothing was read' : '';
  const first = segments[0];
  const [line = ''] = bytes.toString('latin1', 0, 200).split('\r\n');
  return [
    `${paint(end === 'fin' ? 'green' : 'red', end)}: ${meaning} after ${grouped(Math.round(atMs))} ms${unread}`,
    `${plural(bytes.length, 'byte')} in ${plural(segments.length, 'read')}${first ? `, the first after ${grouped(Math.round(first.atMs))} ms` : ''}`,
    ...(first ? [paint('gray', printable(line))] : []),
  ]
    .map((text) => `${text}\n`)
    .join('');
}
