import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { clientSchema, filledIn } from '../../src/trial/client.js';
import { dnsLogger, questionOf } from '../../src/trial/dns-logger.js';
import { keyOf, planOf, seedOf } from '../../src/trial/matrix-plan.js';
import { folderOf, load, versionOf } from '../../src/trial/npm-package.js';
import { PRESETS } from '../../src/trial/presets.js';
import { readOutput } from '../../src/trial/read-output.js';
import { environmentOf } from '../../src/trial/run-client.js';
import { folder, little } from './support/little.js';

describe('what a client showed', () => {
  const json = { kind: 'json', text: 'text', error: 'error', finish: { at: 'finish', whole: ['stop'] } } as const;
  it.each([
    ['text', { kind: 'text' } as const, 'hello\n', 'hello\n', null],
    ['json', json, '{"text":"hello","finish":"stop","error":null}', 'hello', null],
    ['json with an error', json, '{"text":"he","error":{"code":3}}', 'he', '{"code":3}'],
    ['json with another finish', json, '{"text":"he","finish":"length"}', 'he', 'finish length'],
    ['json without a finish', json, '{"text":"he","finish":null}', 'he', null],
    ['no json', json, 'oh', 'oh', null],
    [
      'json lines',
      { ...json, kind: 'json_lines', text: 'delta.text' } as const,
      '{"delta":{"text":"a"}}\nnoise\n{"delta":{"text":"b"}}\n{"error":"x"}',
      'ab',
      'x',
    ],
  ])('%s', (_, output, stdout, shown, structuredError) => {
    expect(readOutput(stdout, output)).toEqual({ shown, structuredError });
  });
});

describe('the plan of a matrix', () => {
  const keys = (faults: string[], repeats: number) => planOf([little('naive')], faults, repeats).map(keyOf);

  it('begins with what others are held against', () => {
    expect(keys(['F1', 'F0', 'rst@event:3'], 2)).toEqual([
      'naive/F0/1',
      'naive/F0/2',
      'naive/F1+/1',
      'naive/F1/1',
      'naive/F1/2',
      'naive/rst@event_3/1',
      'naive/rst@event_3/2',
    ]);
    expect(keys(['F2'], 1)).toEqual(['naive/F0/1', 'naive/F2+/1', 'naive/F2/1']);
    expect(keys(['F2', 'F2+'], 1)).toEqual(['naive/F0/1', 'naive/F2+/1', 'naive/F2/1']);
  });

  it('gives each run a seed that hangs on nothing else', () => {
    const [first, second] = planOf([little('naive')], ['F0'], 2);
    const again = planOf([little('strict'), little('naive')], ['F0', 'F3'], 5).find(
      (run) => second && keyOf(run) === keyOf(second),
    );
    expect(second && seedOf(7, second)).toBe(again && seedOf(7, again));
    expect(first && seedOf(7, first)).not.toBe(second && seedOf(7, second));
    expect(first && seedOf(7, first)).not.toBe(first && seedOf(8, first));
  });
});

describe('presets', () => {
  it.each(PRESETS.map((preset) => [preset.name, preset] as const))(
    '%s is a client, told from all others',
    (name, preset) => {
      expect(clientSchema.parse(preset)).toEqual(preset);
      expect(PRESETS.filter((other) => other.name === name)).toHaveLength(1);
      expect(preset.version).toBeDefined();
      const texts = [...preset.command, ...Object.values(preset.env ?? {}), ...Object.values(preset.files ?? {})];
      const places = { baseURL: 'B', key: 'K', prompt: 'P', dir: 'D', node: 'N', package: 'W' };
      for (const text of texts) expect(filledIn(text, places)).not.toMatch(/\{\{\w+\}\}/);
      // All are pointed at the server and told what to say, but for the one that can't be.
      if (preset.unsupported === undefined) expect(texts.join()).toContain('{{baseURL}}');
      expect([...texts, ...(preset.terminal?.type ?? []).map(({ text = '' }) => text)].join()).toContain('{{prompt}}');
    },
  );

  it('have no environment of ours', () => {
    process.env.OPENAI_API_KEY = 'sk-real';
    onTestFinished(() => void delete process.env.OPENAI_API_KEY);
    const places = { baseURL: 'B', key: 'K', prompt: 'P', dir: '/home/x', node: 'N', package: 'W' };
    const env = environmentOf(little('naive', { env: { KEY: '{{key}}' } }), places);
    expect(env).toMatchObject({ HOME: '/home/x', KEY: 'K', CI: '1' });
    expect(env).not.toHaveProperty('OPENAI_API_KEY');
    expect(environmentOf(little('naive', { terminal: { type: [] } }), places)).not.toHaveProperty('CI');
  });
});

describe('npm packages', () => {
  it('are found from a folder and all above it', async () => {
    const dir = await folder();
    const sub = join(dir, 'a', 'b');
    const packaged = async (name: string, manifest: object, files: Readonly<Record<string, string>>): Promise<void> => {
      await mkdir(join(dir, 'node_modules', name), { recursive: true });
      const all = { ...files, 'package.json': JSON.stringify({ name, ...manifest }) };
      for (const [file, text] of Object.entries(all)) await writeFile(join(dir, 'node_modules', name, file), text);
    };
    await mkdir(sub, { recursive: true });
    await packaged('plain', { version: '1.2.3', main: 'main.cjs' }, { 'main.cjs': 'exports.told = 1;' });
    const exports = { '.': { types: './x.d.ts', import: './main.mjs' } };
    await packaged('@new/only-import', { version: '4.0.0', exports }, { 'main.mjs': 'export const told = 2;' });
    expect(folderOf('plain', sub)).toBe(join(dir, 'node_modules/plain'));
    expect(versionOf('@new/only-import', sub)).toBe('4.0.0');
    expect(versionOf('absent', sub)).toBeUndefined();
    expect(await load<{ told: number }>('plain', sub)).toMatchObject({ told: 1 });
    expect(await load<{ told: number }>('@new/only-import', sub)).toMatchObject({ told: 2 });
    await expect(load('absent', sub)).rejects.toThrow(/absent/);
  });
});

describe('the resolver of a namespace', () => {
  const query = (name: string, id = 7): Buffer => {
    const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
    const head = Buffer.from([0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    return Buffer.concat([head, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
  };

  it('knows nobody, and writes down who was asked for', async () => {
    const logger = await dnsLogger(0);
    onTestFinished(() => logger.close());
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    for (const name of ['API.example.com', 'api.example.com', 'b.example']) {
      socket.send(query(name), logger.port, '127.0.0.1');
      const [answer] = (await once(socket, 'message')) as [Buffer];
      expect(answer.subarray(0, 8).toString('hex')).toBe('0007808300010000');
      expect(questionOf(answer)?.name).toBe(name.toLowerCase());
    }
    expect(logger.names).toEqual(['api.example.com', 'b.example']);
  });

  it('answers nothing that is no query', () => {
    const whole = query('example.com');
    for (let end = 0; end < whole.length; end++) expect(questionOf(whole.subarray(0, end))).toBeUndefined();
    expect(questionOf(Buffer.alloc(40, 0xff))).toBeUndefined();
  });
});
