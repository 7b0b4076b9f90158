import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf, unknownWord, WirefaultError } from '../errors.js';
import { listOf, problemWithCondition } from '../fault/conditions.js';
import type { FaultProblem } from '../fault/contradictions.js';
import { problemsIn } from '../fault/read-fault.js';
import { WRITABLE } from '../fault/spec.js';
import { isPlayed } from '../fault/stage.js';
import { meaningOf } from '../fault/word.js';
import { type Located, readSource } from '../scenario/source.js';
import { clientSchema, type TrialClient } from './client.js';
import { PRESETS } from './presets.js';

/** A file of one's own for a matrix: clients beside those that wirefault knows, and what is to be run. */
export const matrixFileSchema = z
  .strictObject({
    $schema: z.string().optional(),
    about: z.string().optional(),
    clients: z
      .array(clientSchema)
      .readonly()
      .optional()
      .describe('clients of your own; one with the name of a known one takes its place'),
    use: z
      .array(z.string())
      .min(1)
      .readonly()
      .optional()
      .describe('names of the clients to run. Default: all that need no terminal'),
    faults: z.array(z.string()).min(1).readonly().optional().describe('words of the fault language. Default F0 to F5'),
    repeats: z.int().min(1).max(1000).optional(),
    jobs: z.int().min(1).max(256).optional(),
    timeoutMs: z.number().min(100).optional().describe("limit of one run, instead of each client's own"),
    seed: z.int().min(0).max(0xffff_ffff).optional(),
    prompt: z.string().min(1).optional(),
    paragraphs: z.int().min(2).max(1000).optional().describe('numbered paragraphs of a whole answer. Default 6'),
  })
  .readonly();

export type MatrixFile = z.infer<typeof matrixFileSchema>;

/** The published JSON Schema of such files, with that of clients in it. */
export function matrixJsonSchema(): unknown {
  return { ...z.toJSONSchema(matrixFileSchema, { io: 'input', ...WRITABLE }), title: 'wirefault matrix' };
}

/** Reads the text of such a file, and finds all problems at once. */
export function checkMatrixFile(text: string): { readonly problems: readonly Located[]; readonly file: MatrixFile } {
  const source = readSource(text);
  if (source.errors.length > 0) return { problems: source.errors, file: {} };
  const parsed = matrixFileSchema.safeParse(source.value ?? {}, { reportInput: true });
  const file = parsed.success ? parsed.data : {};
  const problems = parsed.success ? problemsOfFile(file) : problemsIn(parsed.error.issues, matrixFileSchema);
  const located = problems.map(({ path, message }): Located => {
    const at = path
      .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
      .join('')
      .replace(/^\./, '');
    return { ...source.placeOf(path, message.startsWith('unknown key')), message: at ? `${at}: ${message}` : message };
  });
  return { problems: located.toSorted((a, b) => a.line - b.line || a.column - b.column), file };
}

function problemsOfFile({ clients = [], use = [], faults = [] }: MatrixFile): FaultProblem[] {
  const known = knownClients(clients).map(({ name }) => name);
  const twice = clients.flatMap(({ name }, n) =>
    clients.findIndex((other) => other.name === name) < n
      ? [{ path: ['clients', n, 'name'], message: `${JSON.stringify(name)} is there twice` }]
      : [],
  );
  const conditions = clients.flatMap((client, n) =>
    (['match', 'avoid'] as const).flatMap((key) =>
      listOf(client[key]).flatMap((condition) => {
        const message = problemWithCondition(condition);
        return message === undefined ? [] : [{ path: ['clients', n, key], message }];
      }),
    ),
  );
  const screens = clients.flatMap((client, n) =>
    (client.terminal?.type ?? []).flatMap(({ when }, step) => {
      const message = problemWithPattern(when);
      return message === undefined ? [] : [{ path: ['clients', n, 'terminal', 'type', step, 'when'], message }];
    }),
  );
  const names = use.flatMap((name, n) =>
    known.includes(name) ? [] : [{ path: ['use', n], message: unknownWord('client', name, known) }],
  );
  const words = faults.flatMap((fault, n) => {
    const message = problemWithFault(fault);
    return message === undefined ? [] : [{ path: ['faults', n], message }];
  });
  return [...twice, ...conditions, ...screens, ...names, ...words];
}

function problemWithPattern(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'm');
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** What is wrong with a word as the fault of a cell, or `undefined`. */
export function problemWithFault(fault: string): string | undefined {
  const meaning = meaningOf(fault);
  if ('problem' in meaning) return meaning.problem;
  return isPlayed(meaning.fault) ? undefined : `${fault} is a fault of the port, which no request can meet`;
}

/** Those of wirefault, and those of one's own in their place or behind them. */
export function knownClients(own: readonly TrialClient[]): TrialClient[] {
  const isKnown = ({ name }: TrialClient): boolean => PRESETS.some((preset) => preset.name === name);
  const presets = PRESETS.map((preset) => own.find(({ name }) => name === preset.name) ?? preset);
  return [...presets, ...own.filter((client) => !isKnown(client))];
}

/** @throws WirefaultError `bad_scenario`: the file, line and column of the first problem, and how many more there are */
export async function loadMatrixFile(path: string): Promise<MatrixFile> {
  const text = await readFile(path, 'utf8').catch((thrown) => {
    throw new WirefaultError('bad_scenario', `${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  const { problems, file } = checkMatrixFile(text);
  const [first, ...more] = problems;
  if (!first) return file;
  const rest =
    more.length > 0
      ? ` (and ${more.length} more: ${more.map(({ line, message }) => `line ${line}: ${message}`).join('; ')})`
      : '';
  throw new WirefaultError('bad_scenario', `${path}:${first.line}:${first.column}: ${first.message}${rest}`);
}
