import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Bar, Chart, Report, Table } from './stats.js';
import { percentile, spreadOf } from './stats.js';

/** Where saved results are: one file for each bench. */
const FOLDER = fileURLToPath(new URL('../results/', import.meta.url));

export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly cpu: string;
  readonly cores: number;
}

export function thisMachine(): Machine {
  const { version: node, platform, arch } = process;
  return { node, platform, arch, cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length };
}

/** A report as it is kept. */
export interface Saved {
  readonly bench: string;
  readonly at: string;
  readonly machine: Machine;
  readonly quick: boolean;
  readonly seconds: number;
  readonly tables: readonly Table[];
  readonly bars: readonly Bar[];
  readonly charts: readonly Chart[];
  readonly data: unknown;
}

export interface Taken {
  readonly report: Report;
  readonly quick: boolean;
  readonly seconds: number;
}

/** More numbers than this in one list are kept as what is between them. */
const LONGEST_LIST = 50;

function brief(_key: string, value: unknown): unknown {
  if (typeof value === 'number') return Number(value.toPrecision(6));
  if (!Array.isArray(value) || value.length <= LONGEST_LIST) return value;
  const numbers = value.filter((one): one is number => typeof one === 'number');
  if (numbers.length < value.length) return value;
  return { count: numbers.length, ...spreadOf(numbers), p99: percentile(numbers, 0.99) };
}

export function save(bench: string, { report, quick, seconds }: Taken): void {
  const { tables, bars = [], charts = [], data } = report;
  const at = new Date().toISOString();
  const saved: Saved = { bench, at, machine: thisMachine(), quick, seconds, tables, bars, charts, data };
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}${bench}.json`, `${JSON.stringify(saved, brief, 2)}\n`);
}

export function saved(): Map<string, Saved> {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const all = files.map((name): Saved => JSON.parse(readFileSync(`${FOLDER}${name}`, 'utf8')));
  return new Map(all.map((one) => [one.bench, one]));
}
