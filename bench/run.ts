import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compile } from './compile.js';
import { crowd } from './crowd.js';
import { firstByte } from './first-byte.js';
import { writePage } from './harness/page.js';
import { save, thisMachine } from './harness/results.js';
import { profileServersInto } from './harness/servers.js';
import { type BenchOptions, barsTable, progress, type Report, tableText } from './harness/stats.js';
import { large } from './large.js';
import { listening } from './listening.js';
import { million } from './million.js';
import { pacing } from './pacing.js';
import { proof } from './proof.js';
import { proxy } from './proxy.js';
import { resets } from './resets.js';
import { stalled } from './stalled.js';
import { throughput } from './throughput.js';

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = {
  throughput,
  proof,
  'first-byte': firstByte,
  stalled,
  crowd,
  pacing,
  listening,
  large,
  million,
  resets,
  proxy,
  compile,
};

const ALL = 'all';

const USAGE = `npm run bench -- [${ALL}|${Object.keys(BENCHES).join('|')} ...] [--quick] [--rounds N] [--save] [--page] [--json FILE] [--profile DIRECTORY]

  --quick    short rounds: a smoke test, no measurement
  --rounds   of the benches that alternate contenders, instead of their own number
  --save     writes bench/results/NAME.json, and docs/performance.md with its charts from all that are there
  --page     writes that page alone, and runs nothing
  --json     the results as JSON, too
  --profile  a V8 CPU profile of each server, which slows them down
`;

function argumentsOf() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        save: { type: 'boolean', default: false },
        page: { type: 'boolean', default: false },
        json: { type: 'string' },
        profile: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (thrown) {
    return fail(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function fail(message: string): never {
  process.stderr.write(`bench: ${message}\n\n${USAGE}`);
  process.exit(2);
}

const { values, positionals } = argumentsOf();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (values.page) {
  await writePage();
  process.exit(0);
}
if (values.profile !== undefined) profileServersInto(values.profile);

const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0)) {
  fail(`--rounds: ${JSON.stringify(values.rounds)} is not allowed; expected a whole number of at least 1`);
}
const names = positionals.length === 0 || positionals.includes(ALL) ? Object.keys(BENCHES) : positionals;
const chosen = names.map((name) => {
  const run = BENCHES[name] ?? fail(`no bench is called ${JSON.stringify(name)}`);
  return { name, run };
});

const machine = thisMachine();
const { node, platform, arch, cores, cpu } = machine;
process.stdout.write(`Node ${node}, ${platform} ${arch}, ${cores} × ${cpu}\n`);
const results: Record<string, unknown> = {};
for (const { name, run } of chosen) {
  const begun = performance.now();
  const { quick } = values;
  const report = await run({ quick, rounds });
  const { tables, bars = [], data } = report;
  results[name] = data;
  for (const table of [...tables, ...(bars.length > 0 ? [barsTable(bars)] : [])]) {
    process.stdout.write(`\n${tableText(table)}\n`);
  }
  const seconds = Math.round((performance.now() - begun) / 1000);
  if (values.save) save(name, { report, quick, seconds });
  progress(`${name}: ${seconds} s`);
}
if (values.save) await writePage();
if (values.json !== undefined) {
  const document = { at: new Date().toISOString(), machine, quick: values.quick, results };
  writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`);
}
