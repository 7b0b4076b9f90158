import { listing, rowOf } from '../proof/journal-view.js';
import { grouped, type Paint, printable } from '../proof/paint.js';
import { findingGroups } from '../trial/finding-groups.js';
import type { Finding } from '../trial/findings.js';
import { idleText } from '../trial/idle-text.js';
import { tableOf } from '../trial/matrix-table.js';
import { matrixText } from '../trial/matrix-text.js';
import { sweepText } from '../trial/sweep-text.js';
import { MOST_FINDINGS, words } from './html-parts.js';
import { type Report, type ReportedJournal, runsOf } from './report.js';

/** A report for a terminal: what one wants to know first. Pure. */
export function reportSummary(report: Report, paint: Paint): string {
  const parts = [
    ...(report.records.length > 0 ? [matrixPart(report, paint)] : []),
    ...report.sweeps.map((sweep) => sweepText(sweep, paint)),
    ...report.idle.map((idle) => idleText(idle, paint)),
    ...report.journals.map((journal) => journalPart(journal, paint)),
  ];
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}

/** Exchanges that are listed; findings are told of all. */
const LISTED = 40;

function matrixPart(report: Report, paint: Paint): string {
  const groups = findingGroups(runsOf(report));
  const findings = groups.flatMap(({ client, runs, first }) => {
    const faults = [...new Set(runs.map(({ fault }) => fault))].join(', ');
    return [`${printable(`${client} (${faults})`)}: ${findingText(first, paint)}`, `  ${printable(first.advice)}`];
  });
  return [matrixText(tableOf(report.records), paint), ...findings].join('\n');
}

function journalPart({ source, ledgers, findings, leftOut }: ReportedJournal, paint: Paint): string {
  const listed = ledgers.slice(-LISTED);
  const older = ledgers.length - listed.length;
  return [
    paint('bold', printable(source)),
    ...(older > 0 ? [`${grouped(older)} older exchanges are not listed`] : []),
    listing(listed.map(rowOf), paint),
    ...leftOut.map((one) => `left out: ${printable(one)}`),
    ...(findings.length === 0 ? ['no findings'] : []),
    ...findings
      .slice(0, MOST_FINDINGS)
      .flatMap((finding) => [findingText(finding, paint), `  ${printable(finding.advice)}`]),
    ...(findings.length > MOST_FINDINGS
      ? [`and ${grouped(findings.length - MOST_FINDINGS)} more findings; --json prints them all`]
      : []),
  ].join('\n');
}

function findingText({ kind, evidence }: Finding, paint: Paint): string {
  return `${paint('yellow', words(kind))}: ${printable(evidence.join('; '))}`;
}
