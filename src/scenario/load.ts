import { readFile } from 'node:fs/promises';
import { messageOf, WirefaultError } from '../errors.js';
import type { GivenOptions } from '../options.js';
import { checkScenario } from './check.js';

/**
 * The options that a scenario file means.
 * @throws WirefaultError `bad_scenario`: the file, line and column of the first problem, and how many more there are
 */
export async function loadScenario(path: string): Promise<GivenOptions> {
  const { problems, options } = checkScenario(await readScenario(path));
  if (options) return options;
  const [first, ...more] = problems;
  const place = first ? `${path}:${first.line}:${first.column}: ${first.message}` : path;
  const rest = more.length > 0 ? ` (and ${more.length} more; \`wirefault check ${path}\` tells all)` : '';
  throw new WirefaultError('bad_scenario', `${place}${rest}`);
}

/** @throws WirefaultError `bad_scenario` where it can't be read */
export async function readScenario(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new WirefaultError('bad_scenario', `${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}
