import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf, WirefaultError } from '../errors.js';
import { grouped } from '../proof/paint.js';
import { failingIn } from '../report/failing.js';
import { junitXml } from '../report/junit.js';
import { loadReport } from '../report/load.js';
import { reportMarkdown } from '../report/markdown.js';
import { reportPage } from '../report/page.js';
import { type Report, runsOf } from '../report/report.js';
import { reportSummary } from '../report/summary.js';
import { failWordsOf } from '../trial/fail-words.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

interface ReportFlags {
  readonly html?: string;
  readonly markdown?: string;
  readonly junit?: string;
  readonly json?: true;
  readonly failOn?: string;
  readonly bytes?: string;
  readonly controlToken?: string;
}

const HELP = `
A SOURCE is one of
  a folder with results.jsonl (wirefault matrix), sweeps/ (wirefault sweep), idle.json (wirefault idle)
  a journal of a server, FILE.jsonl (serve --journal), with what --capture has written beside it in bytes/
  a live server, http://127.0.0.1:8000: what it keeps of its newest exchanges

Without a format it prints a summary. Files are written whole; "-" is standard output. The HTML page is one file without
any network: up to 6 MB of evidence, and it says what was left out. A case of JUnit fails for --fail-on, or else for
silent, duplicated, looping, hang, crash and invalid, and for any finding of a journal; idle tables have no cases.
Exit code: 0, or 1 where it could not be read or --fail-on was met, 2 for wrong usage.

  wirefault report wirefault-matrix --html report.html --fail-on silent,hang,retry_storm,flaky`;

const FORMATS = ['html', 'markdown', 'junit'] as const;

/** `wirefault report`: what was found out, for people and for CI. */
export function addReportCommand(root: Command, output?: CommandOutput): void {
  root
    .command('report')
    .description('report what a matrix, a sweep, an idle table, a journal or a live server tells')
    .argument('<source...>', 'folders, journals, URLs of live servers')
    .option('--html <file>', 'a page: heat map, evidence of each cell, findings')
    .option('--markdown <file>', 'the same tables as Markdown')
    .option('--junit <file>', 'JUnit XML: a suite for each client, a case for each fault; for sweeps and journals, too')
    .option('--json', 'print the records, sweeps, idle tables and findings as one JSON document')
    .option('--fail-on <words>', 'verdicts, findings and "flaky" that make the exit code 1, with commas')
    .option('--bytes <dir>', 'what --capture has written for a journal (default: bytes/ beside it)')
    .option('--control-token <token>', 'of a live server that has one')
    .addHelpText('after', HELP)
    .action(async (sources: string[], flags: ReportFlags) => {
      const to = output ?? processOutput();
      const failOn = failWordsOf(flags.failOn);
      const toStdout = [...FORMATS.filter((format) => flags[format] === '-'), ...(flags.json ? ['json'] : [])];
      if (toStdout.length > 1) {
        const message = `standard output takes one format, not ${toStdout.join(' and ')}; write the others to files`;
        throw new WirefaultError('bad_option', message);
      }
      const report = await loadReport(sources, {
        evidence: flags.html !== undefined,
        bytesDir: flags.bytes,
        controlToken: flags.controlToken,
      });
      const write: Readonly<Record<(typeof FORMATS)[number], () => string>> = {
        html: () => reportPage(report),
        markdown: () => reportMarkdown(report),
        junit: () => junitXml(report, failOn),
      };
      for (const format of FORMATS) {
        const path = flags[format];
        if (path !== undefined) await put(to, { format, path, text: write[format]() });
      }
      if (flags.json) await print(to, `${JSON.stringify(asJson(report), null, 2)}\n`);
      else if (FORMATS.every((format) => flags[format] === undefined)) {
        await print(to, reportSummary(report, paintOf(to)));
      }
      const met = failingIn(report, failOn);
      for (const one of met) to.err.write(`${one}\n`);
      if (met.length > 0) process.exitCode = 1;
    });
}

interface Written {
  readonly format: string;
  readonly path: string;
  readonly text: string;
}

async function put(to: CommandOutput, { format, path, text }: Written): Promise<void> {
  if (path === '-') {
    await print(to, text);
    return;
  }
  try {
    await writeFile(path, text);
  } catch (thrown) {
    throw new WirefaultError('bad_option', `--${format}: can't write ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
  to.err.write(`${path}: ${grouped(Buffer.byteLength(text))} bytes\n`);
}

function asJson(report: Report): object {
  const { sources, records, sweeps, idle, journals } = report;
  return {
    sources,
    records,
    sweeps,
    idle,
    journals: journals.map(({ source, ledgers, leftOut }) => ({ source, exchanges: ledgers.length, leftOut })),
    findings: [
      ...runsOf(report).flatMap(({ client, fault, repeat, findings }) =>
        findings.map((finding) => ({ client, fault, repeat, ...finding })),
      ),
      ...journals.flatMap(({ source, findings }) => findings.map((finding) => ({ source, ...finding }))),
    ],
  };
}
