import { grouped, plural } from '../proof/paint.js';
import type { Finding } from '../trial/findings.js';
import type { IdleResults } from '../trial/idle-results.js';
import { escaped, row, tableLines } from '../trial/markdown-table.js';
import { matrixMarkdown } from '../trial/report-markdown.js';
import { countsOf } from '../trial/sweep-ranges.js';
import type { Sweep } from '../trial/sweep-results.js';
import { words } from './html-parts.js';
import { gapText, PROBE_TITLES, probeCells, rearmText } from './idle-words.js';
import type { Report, ReportedJournal } from './report.js';
import { markWords } from './sweep-words.js';

/** A report as Markdown: the matrix as in the docs, then sweeps, patience and journals. Pure. */
export function reportMarkdown(report: Report): string {
  const parts = [
    ...(report.records.length > 0 ? [matrixMarkdown(report.records).trimEnd(), ''] : []),
    ...(report.sweeps.length > 0 ? sweepLines(report.sweeps) : []),
    ...(report.idle.length > 0 ? ['## Patience', '', ...report.idle.flatMap(idleLines)] : []),
    ...report.journals.flatMap(journalLines),
  ];
  return `${parts.join('\n').trimEnd()}\n`;
}

function sweepLines(sweeps: readonly Sweep[]): string[] {
  const rows = sweeps.flatMap(({ client, clientVersion, protocol, positions, answer, teardowns }) =>
    teardowns.map((one) =>
      row([
        `\`${client}\``,
        escaped(clientVersion ?? 'tells none'),
        protocol,
        `${positions} of ${grouped(answer.bytes)}`,
        one.teardown,
        grouped(one.cuts),
        countsOf(one)
          .map(([verdict, count]) => `${verdict} ${grouped(count)}`)
          .join(', '),
        escaped(markWords(one.ranges)),
      ]),
    ),
  );
  const titles = ['client', 'version', 'protocol', 'cuts', 'by', 'how many', 'verdicts', 'bytes before the cut'];
  return ['## Sweeps', '', ...tableLines(titles, rows)];
}

function idleLines(idle: IdleResults): string[] {
  const { client, clientVersion, protocol, probes, rearm, maxWaitMs, date } = idle;
  const gap = gapText(idle);
  return [
    `### \`${client}\``,
    '',
    `${escaped(clientVersion ?? 'tells no version')}, ${protocol}, ${date.slice(0, 10)}.`,
    '',
    ...tableLines(
      PROBE_TITLES,
      probes.map((probe) => row([words(probe.probe), ...probeCells(probe, maxWaitMs).map(escaped)])),
    ),
    ...(rearm.length > 0
      ? tableLines(
          ['sent in place of events', 'sets the patience back'],
          rearm.map((one) => row([words(one.by), escaped(rearmText(one))])),
        )
      : []),
    ...(gap === undefined ? [] : [`Shortest pause between events at which it gives up: ${escaped(gap)}.`, '']),
  ];
}

function journalLines({ source, ledgers, findings, leftOut }: ReportedJournal): string[] {
  return [
    `## Journal ${escaped(source)}`,
    '',
    `${plural(ledgers.length, 'exchange')}, ${plural(findings.length, 'finding')}.`,
    '',
    ...leftOut.flatMap((one) => [`Left out: ${escaped(one)}.`, '']),
    ...(findings.length > 0
      ? tableLines(['finding', 'exchanges', 'evidence', 'advice'], findings.map(findingRow))
      : []),
  ];
}

function findingRow({ kind, exchanges, evidence, advice }: Finding): string {
  return row([words(kind), exchanges.join(', '), escaped(evidence.join('; ')), advice]);
}
