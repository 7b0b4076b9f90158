import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FaultServerOptions } from '../../../src/index.js';
import { checkScenario } from '../../../src/scenario/check.js';
import { type Served, serve } from '../../support/server.js';

/** The shipped scenario files of the reported cases. */
export const CASES_DIR = fileURLToPath(new URL('../../../scenarios/cases', import.meta.url));

/** The options that a case's file means. `edit` makes it smaller where its real size only costs time. */
export async function caseOptions(
  id: string,
  edit: (text: string) => string = (text) => text,
): Promise<FaultServerOptions> {
  const { problems, options } = checkScenario(edit(await readFile(`${CASES_DIR}/${id}.yaml`, 'utf8')));
  if (!options) throw new Error(`${id}: ${problems.map(({ line, message }) => `${line}: ${message}`).join('; ')}`);
  return options;
}

interface CaseChanges {
  /** What the requests get, instead of the file's whole sequence. */
  readonly sequence?: readonly string[];
  readonly timeScale?: number;
  edit?(text: string): string;
}

/** A server with a case's file, for one test. */
export async function caseServer(id: string, { edit, ...changes }: CaseChanges = {}): Promise<Served> {
  return serve({ ...(await caseOptions(id, edit)), ...changes });
}
