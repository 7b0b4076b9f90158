import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { compile } from './compile.js';
import { profileServersInto } from './harness/servers.js';
import { type BenchOptions, progress, type Report, tableText } from './harness/stats.js';
import { pacing } from './pacing.js';
import { proxy } from './proxy.js';
import { resets } from './resets.js';
import { stalled } from './stalled.js';
import { throughput } from './throughput.js';

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = {
  compile,
  throughput,
  stalled,
  pacing,
  resets,
  proxy,
};

const USAGE = `npm run bench -- [${Object.keys(BENCHES).join('|')} ...] [--quick] [--json FILE] [--profile DIRECTORY]

  --quick    short rounds: a smoke test, no measurement
  --json     the results as JSON, too
  --profile  a V8 CPU profile of each server, which slows them down
`;

function argumentsOf() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
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
if (values.profile !== undefined) profileServersInto(values.profile);

const names = positionals.length > 0 ? positionals : Object.keys(BENCHES);
const chosen = names.map((name) => {
  const run = BENCHES[name] ?? fail(`no bench is called ${JSON.stringify(name)}`);
  return { name, run };
});

const machine = { node: process.version, platform: process.platform, arch: process.arch, cpu: cpus()[0]?.model };
process.stdout.write(`Node ${machine.node}, ${machine.platform} ${machine.arch}, ${cpus().length} × ${machine.cpu}\n`);
const results: Record<string, unknown> = {};
for (const { name, run } of chosen) {
  const begun = performance.now();
  const { tables, data } = await run({ quick: values.quick });
  results[name] = data;
  for (const table of tables) process.stdout.write(`\n${tableText(table)}\n`);
  progress(`${name}: ${Math.round((performance.now() - begun) / 1000)} s`);
}
if (values.json !== undefined) {
  const document = {
    at: new Date().toISOString(),
    machine: { ...machine, cores: cpus().length },
    quick: values.quick,
    results,
  };
  writeFileSync(values.json, `${JSON.stringify(document, null, 2)}\n`);
}
