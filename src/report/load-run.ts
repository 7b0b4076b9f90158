import { readFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { messageOf } from '../errors.js';
import { evidenceSchema, type RunEvidence } from '../trial/evidence.js';
import type { RanCell } from '../trial/results.js';
import type { Frame } from '../trial/terminal.js';
import { excerptOf } from './excerpt.js';
import { type ReportedExchange, reportedExchange } from './exchange.js';
import type { RunDetail } from './report.js';

/** Reads what one run of a matrix has left behind, as much of it as a page shows. */
const RUN_LIMITS = {
  /** Characters of stdout, and as many of stderr. */
  outputCharacters: 3000,
  /** The last screens of a terminal. */
  frames: 2,
  frameCharacters: 6000,
} as const;

/** @param folder of the matrix; nothing outside of it is read, whatever a record says */
export async function loadRun(folder: string, record: RanCell): Promise<RunDetail> {
  const dir = resolve(folder, record.dir);
  if (relative(folder, dir).split(sep)[0] === '..') {
    return { kind: 'missing', why: `its evidence would be outside of the folder: ${record.dir}` };
  }
  const path = join(dir, 'evidence.json');
  try {
    const evidence = evidenceSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    return await detailOf(evidence, dir);
  } catch (thrown) {
    return { kind: 'missing', why: `can't read ${path}: ${messageOf(thrown).split('\n', 1)[0]}` };
  }
}

async function detailOf(run: RunEvidence, dir: string): Promise<RunDetail> {
  const exchanges = (ledgers: RunEvidence['main']): Promise<ReportedExchange[]> =>
    Promise.all(
      ledgers.map(async (ledger) => reportedExchange(ledger, await storedBytes(dir, ledger.exchange, 'response'))),
    );
  const frames = await framesIn(dir);
  const last = frames.slice(-RUN_LIMITS.frames);
  return {
    kind: 'found',
    main: await exchanges(run.main),
    auxiliary: await exchanges(run.auxiliary),
    // What a terminal shows at the end is its last screen.
    stdout: excerptOf(frames.length > 0 ? '' : run.stdout, RUN_LIMITS.outputCharacters),
    stderr: excerptOf(run.stderr, RUN_LIMITS.outputCharacters),
    structuredError: run.structuredError,
    frames: last.map(({ ms, text }) => ({ ms, text: excerptOf(text.trimEnd(), RUN_LIMITS.frameCharacters) })),
    framesBefore: frames.length - last.length,
    notes: [
      ...(run.timedOut ? ['ended by wirefault at the limit of its time'] : []),
      ...(run.capped ? ['ended by wirefault at the limit of its requests'] : []),
      ...(run.open.length > 0 ? [`exchanges under way at the limit: ${run.open.join(', ')}`] : []),
    ],
  };
}

/** As `--capture` stores them. */
function storedBytes(dir: string, exchange: number, what: 'request' | 'response'): Promise<Buffer | undefined> {
  return readFile(join(dir, 'bytes', `${String(exchange).padStart(6, '0')}.${what}`)).catch(() => undefined);
}

/** None where it had no terminal. A line that can't be read is left out. */
async function framesIn(dir: string): Promise<Frame[]> {
  const text = await readFile(join(dir, 'screen.jsonl'), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const frame = frameOf(line);
    return frame ? [frame] : [];
  });
}

function frameOf(line: string): Frame | undefined {
  try {
    const { ms, text } = JSON.parse(line) as Partial<Frame>;
    return typeof ms === 'number' && typeof text === 'string' ? { ms, text } : undefined;
  } catch {
    return undefined;
  }
}
