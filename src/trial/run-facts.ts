import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunEvidence, Verdict } from './evidence.js';
import { type Finding, findingsOf } from './findings.js';
import type { RanCell } from './results.js';
import { shownBlocks } from './shown-blocks.js';

/** What of the first answer, the one with the fault, was told, delivered and shown. */
export function paragraphsOf(run: RunEvidence): RanCell['paragraphs'] {
  const [first] = run.main;
  if (!first?.blocks) return null;
  const { told, delivered } = first.blocks;
  const shown = new Set(shownBlocks(run.shown, run.main).byExchange.get(first.exchange)).size;
  return { told, delivered, shown };
}

/** Silence of a run that ended sooner says nothing about its patience. */
const MIN_PATIENCE_MS = 30_000;

/** The findings of a run, with the bytes that its server has stored in `dir`. */
export async function findingsIn(run: RunEvidence, verdict: Verdict, dir: string): Promise<Finding[]> {
  const ledgers = [...run.main, ...run.auxiliary];
  const stored = async (what: 'request' | 'response'): Promise<Map<number, Buffer>> => {
    const all = await Promise.all(
      ledgers.map(async ({ exchange }) => [exchange, await bytesOf(dir, exchange, what)] as const),
    );
    return new Map(all.flatMap(([exchange, bytes]) => (bytes ? [[exchange, bytes]] : [])));
  };
  const [requests, responses] = [await stored('request'), await stored('response')];
  const [first] = run.main;
  return findingsOf(ledgers, {
    response: (exchange) => responses.get(exchange),
    requestBody: (exchange) => requests.get(exchange)?.toString('utf8'),
    accepted: verdict === 'silent' && first ? [first.exchange] : [],
    patienceMs: MIN_PATIENCE_MS,
  });
}

function bytesOf(dir: string, exchange: number, what: string): Promise<Buffer | undefined> {
  return readFile(join(dir, 'bytes', `${String(exchange).padStart(6, '0')}.${what}`)).catch(() => undefined);
}
