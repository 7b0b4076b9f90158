import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { NO_REDIS, redisServer } from '../support/redis.js';

/** The packages that a process has loaded when a server of the built library is up. */
async function loadedWith(options: object): Promise<readonly string[]> {
  const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  const program = `
    import { createRequire } from 'node:module';
    const { startFaultServer } = await import(${JSON.stringify(library)});
    const server = await startFaultServer(${JSON.stringify(options)});
    console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));
    await server.close();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const files: string[] = JSON.parse(stdout);
  const names = files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  return [...new Set(names)];
}

it('without a shared state nothing of Redis is loaded', async () => {
  const loaded = await loadedWith({});
  // What is loaded all the same shows that this looks at the right place.
  expect(loaded).toContain('http-parser-js');
  expect(loaded.filter((name) => /redis|cluster-key-slot/.test(name))).toEqual([]);
});

it.skipIf(NO_REDIS)('with one it is', async () => {
  const redis = await redisServer();
  expect(await loadedWith({ state: redis.url })).toContain('ioredis');
});
