import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errnoOf } from '../errors.js';
import { isObject } from '../sse/dialect.js';

/** npm packages as a program in some other folder would find them: wirefault has no SDK of its own. */

/** Where drivers look: the folder in which wirefault was called. */
function calledFrom(): string {
  return process.env.WIREFAULT_CALLED_FROM ?? process.cwd();
}

/** The folder of a package, or `undefined` where it isn't found. */
export function folderOf(name: string, from = calledFrom()): string | undefined {
  for (let at = resolve(from); ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (manifestOf(folder)) return folder;
    if (dirname(at) === at) return undefined;
  }
}

export function versionOf(name: string, from = calledFrom()): string | undefined {
  const folder = folderOf(name, from);
  const version = folder === undefined ? undefined : manifestOf(folder)?.version;
  return typeof version === 'string' ? version : undefined;
}

/**
 * Loads a package from where wirefault was called.
 * @throws Error where it isn't there
 */
export async function load<T>(name: string, from = calledFrom()): Promise<T> {
  return (await import(pathToFileURL(entryOf(name, from)).href)) as T;
}

function entryOf(name: string, from: string): string {
  try {
    return createRequire(join(resolve(from), 'caller.js')).resolve(name);
  } catch (thrown) {
    // Packages that have no entry for require() say where that for import is.
    const root = name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/');
    const folder = errnoOf(thrown) === 'ERR_PACKAGE_PATH_NOT_EXPORTED' ? folderOf(root, from) : undefined;
    const entry = folder && importEntry(manifestOf(folder)?.exports, `.${name.slice(root.length)}`);
    if (!folder || !entry) throw thrown;
    return join(folder, entry);
  }
}

function importEntry(exports: unknown, subpath: string): string | undefined {
  let at = isObject(exports) && Object.hasOwn(exports, subpath) ? exports[subpath] : exports;
  while (isObject(at)) at = at.import ?? at.node ?? at.default;
  return typeof at === 'string' ? at : undefined;
}

function manifestOf(folder: string): Record<string, unknown> | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return isObject(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
}
