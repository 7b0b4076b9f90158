import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCell } from '../../src/trial/cell.js';
import type { Terminal, TrialClient } from '../../src/trial/client.js';
import { judge } from '../../src/trial/judge.js';
import { hasTmux } from '../../src/trial/terminal.js';
import { folder, little } from './support/little.js';

const SCRIPT = fileURLToPath(new URL('./support/tui.mjs', import.meta.url));
const TMUX = await hasTmux();

const client = (terminal: Terminal): TrialClient => ({
  name: 'tui',
  protocol: 'openai-chat',
  command: ['{{node}}', SCRIPT, '{{baseURL}}'],
  output: { kind: 'text' },
  terminal: { quietMs: 1000, ...terminal },
});

const ASKS: Terminal = {
  type: [
    { when: 'Would you like to log in', keys: ['Enter'], optional: true },
    { when: 'Do you trust', text: 'y', keys: ['Enter'], optional: true },
    { when: '^READY', text: '{{prompt}}', keys: ['Enter'] },
  ],
};

async function ran(fault: string, one: TrialClient, timeoutMs = 15_000) {
  const dir = await folder();
  const task = { client: one, fault, prompt: '-l: tell me', seed: 1, dir, paragraphs: 4, timeoutMs };
  const run = await runCell(task);
  const lines = (await readFile(join(dir, 'screen.jsonl'), 'utf8')).trim().split('\n');
  return { run, frames: lines.map((line): { ms: number; text: string } => JSON.parse(line)) };
}

describe('in a terminal', () => {
  beforeEach(({ skip }) => skip(!TMUX, 'program tmux not on PATH'));

  it('what is to be typed is typed once its words are on the screen, and a quiet screen is the end', async () => {
    const { run, frames } = await ran('F0', client(ASKS));
    expect(judge({ run, healthy: true, control: undefined, usual: undefined })).toMatchObject({ verdict: 'complete' });
    expect(run).toMatchObject({ exitCode: 0, signal: null, timedOut: false });
    // Only what is visible in the end is what it shows; what was there for a while is in the transcript.
    expect(run.shown).not.toContain('working');
    expect(frames[0]?.ms).toBeLessThan(frames.at(-1)?.ms ?? 0);
    expect(frames.at(-1)?.text).toBe(run.shown);
  });

  it('a spinning screen under a silent answer is no end', async () => {
    const { run, frames } = await ran('stall@event:3', client(ASKS), 5000);
    expect(run).toMatchObject({ timedOut: true, open: [1], exitCode: null });
    expect(frames.some(({ text }) => text.includes('working'))).toBe(true);
    expect(judge({ run, healthy: false, control: undefined, usual: undefined }).verdict).toBe('hang');
  });

  it('a program that ends has its exit code', async () => {
    const { run } = await ran('F0', client({ type: [{ when: 'trust', text: 'quit', keys: ['Enter'] }] }));
    expect(run).toMatchObject({ exitCode: 3, main: [] });
  });

  it('with nothing to type it has to end by itself', async () => {
    const { run } = await ran('F2', little('strict', { terminal: { type: [] } }));
    expect(run).toMatchObject({ exitCode: 1, timedOut: false });
    expect(run.shown).toContain('the answer ended early: no end');
    expect(run.shown).not.toContain('Pane is dead');
  });
});
