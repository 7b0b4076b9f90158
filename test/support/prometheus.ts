/**
 * An independent and strict reader of Prometheus' text format, version 0.0.4
 * (prometheus.io/docs/instrumenting/exposition_formats): it throws at the first line that isn't of the format.
 */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

export function readMetrics(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind) {
      if (!NAME.test(name)) throw new Error(`no name: ${line}`);
      const family = families.get(name) ?? { type: '', help: '', samples: [] };
      families.set(name, family);
      const key = kind === 'HELP' ? 'help' : 'type';
      if (family[key] !== '' || family.samples.length > 0) throw new Error(`twice, or behind its samples: ${line}`);
      if (key === 'type' && !TYPES.includes(rest)) throw new Error(`no type: ${line}`);
      family[key] = rest;
      continue;
    }
    if (line.startsWith('#')) continue;
    const [, metric = '', labelText = '', number = ''] = SAMPLE.exec(line) ?? [];
    const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number);
    const family = families.get(metric);
    if (!family || number === '' || Number.isNaN(value)) throw new Error(`no sample: ${line}`);
    const labels = readLabels(labelText);
    const series = JSON.stringify([metric, Object.entries(labels).toSorted()]);
    if (seen.has(series)) throw new Error(`a series twice: ${line}`);
    seen.add(series);
    family.samples.push({ labels, value });
  }
  return families;
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const [whole, name, value = ''] = LABEL.exec(rest) ?? [];
    if (whole === undefined || name === undefined || name in labels) throw new Error(`no labels: {${text}}`);
    labels[name] = value.replaceAll(/\\(["\\n])/g, (_, char: string) => (char === 'n' ? '\n' : char));
    rest = rest.slice(whole.length);
  }
  return labels;
}

/** The value of one series; `undefined` where there is none. */
export function seriesValue(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const sample = families
    .get(name)
    ?.samples.find((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value));
  return sample?.value;
}
