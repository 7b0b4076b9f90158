import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { exchangeSchema, type RecordedExchangeData } from '../../../src/replay/format.js';

/** A folder for one test, removed at its end. */
export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'wirefault-replay-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A file in a folder of its own. */
export function fileOf(name: string, bytes: string | Buffer): string {
  const path = join(folder(), name);
  writeFileSync(path, bytes);
  return path;
}

/** Every file below `dir`, by its path. */
export function filesIn(dir: string): ReadonlyMap<string, Buffer> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return new Map(
    paths.filter((path) => statSync(join(dir, path)).isFile()).map((path) => [path, readFileSync(join(dir, path))]),
  );
}

/** What a recording says of its exchange, checked by the schema. */
export function exchangeIn(dir: string, folderName = '000001'): RecordedExchangeData {
  return exchangeSchema.parse(JSON.parse(readFileSync(join(dir, folderName, 'exchange.json'), 'utf8')));
}
