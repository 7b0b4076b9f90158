import { z } from 'zod';
import { conditionsSchema } from '../fault/conditions.js';
import { PROTOCOLS } from '../sse/dialect.js';

/**
 * A client under trial, as data: how it is started and pointed at the server, how its main request is told from the
 * others, and how its output is read. What stands in braces is filled in for each run: `{{baseURL}}` (without `/v1`),
 * `{{key}}`, `{{prompt}}`, `{{dir}}` (its own home), `{{node}}` (this Node) and `{{package}}` (the compiled wirefault).
 */
const words = z.array(z.string()).min(1).readonly();
const path = z.string().describe('a path into the JSON');

const read = {
  text: path.describe('a path to the text that it shows'),
  error: path.optional().describe('a path to an error that it tells'),
  finish: z
    .strictObject({ at: path, whole: z.array(z.string()).min(1).readonly().describe('words of a whole answer') })
    .readonly()
    .optional()
    .describe('where it tells why the answer ended; any other word tells that it is not whole'),
};

const typingSchema = z
  .strictObject({
    when: z.string().describe('a regular expression that the screen has to meet first'),
    text: z.string().optional().describe('what is typed'),
    keys: z.array(z.string()).readonly().optional().describe('what is pressed then, in the words of tmux: Enter, C-c'),
    optional: z
      .literal(true)
      .optional()
      .describe(
        'a question that may not come: the next step is looked for as well. Its keys are pressed until it is gone',
      ),
  })
  .readonly();

const terminalSchema = z
  .strictObject({
    type: z.array(typingSchema).readonly().describe('in this order; with nothing to type it has to end by itself'),
    quietMs: z.number().min(100).optional().describe('a screen that stands still for so long has ended. Default 4,000'),
    columns: z.int().min(20).optional(),
    rows: z.int().min(10).optional(),
  })
  .readonly();

export const clientSchema = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'expected letters, digits, dots, dashes and underscores'),
    about: z.string().optional(),
    protocol: z.enum(PROTOCOLS),
    command: words.describe('the program and its arguments; nothing is given to a shell'),
    env: z
      .record(z.string(), z.string())
      .optional()
      .describe('beside PATH, HOME and the like, which each run has of its own'),
    files: z.record(z.string(), z.string()).optional().describe('files to be written in its home, by their path there'),
    match: conditionsSchema.optional().describe('what the body of its main request has'),
    avoid: conditionsSchema.optional().describe('what the body of its main request has not'),
    output: z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('text') }).readonly(),
        z.strictObject({ kind: z.literal('json'), ...read }).readonly(),
        z.strictObject({ kind: z.literal('json_lines'), ...read }).readonly(),
      ])
      .describe('how its standard output is read'),
    version: words.optional().describe('prints its version'),
    probe: words.optional().describe('ends with exit code 0 where the client is installed'),
    install: z.string().optional().describe('how one gets it, for people'),
    needs: z.array(z.string()).readonly().optional().describe('npm packages to be found from the working folder'),
    unsupported: z.string().optional().describe('why it can never be run: its row says so'),
    timeoutMs: z.number().min(100).optional().describe('limit of one run. Default 60,000'),
    maxRequests: z.int().min(1).optional().describe('main requests that end a run as looping. Default 30'),
    terminal: terminalSchema.optional().describe('it is interactive: it runs in a terminal, and this is typed'),
  })
  .readonly();

export type TrialClient = z.infer<typeof clientSchema>;
export type Terminal = z.infer<typeof terminalSchema>;

/** What the words in braces stand for. */
export interface Places {
  readonly baseURL: string;
  readonly key: string;
  readonly prompt: string;
  readonly dir: string;
  readonly node: string;
  readonly package: string;
}

export function filledIn(text: string, places: Places): string {
  return text.replaceAll(/\{\{(baseURL|key|prompt|dir|node|package)\}\}/g, (_, name: keyof Places) => places[name]);
}
