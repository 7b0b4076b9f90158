import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plain } from '../../src/proof/paint.js';
import type { Verdict } from '../../src/trial/evidence.js';
import { cutsOf, labelOf, terminalOf } from '../../src/trial/sweep-answer.js';
import { type JudgedCut, teardownOf } from '../../src/trial/sweep-ranges.js';
import {
  readSweeps,
  SWEEP_VERSION,
  type Sweep,
  type SweepPositions,
  sweepPath,
} from '../../src/trial/sweep-results.js';
import { sweepSvg } from '../../src/trial/sweep-svg.js';
import { sweepText } from '../../src/trial/sweep-text.js';
import { planner } from '../support/plans.js';
import { type Element, elementsOf, parsed } from '../support/xml.js';
import { folder } from './support/little.js';

const plan = planner({ fidelity: 'plain' })('success', 'openai-chat');
const terminal = terminalOf(plan) ?? { start: 0, end: 0 };

/** A sweep made by hand: silent behind `silentFrom`, and hanging at one byte. */
function sweepWith({ silentFrom = 400, hangAt = 350, positions = 'every-byte' as SweepPositions } = {}): Sweep {
  const verdictAt = (offset: number): Verdict =>
    offset === hangAt ? 'hang' : offset >= terminal.end ? 'complete' : offset >= silentFrom ? 'silent' : 'detected';
  const teardowns = (['fin', 'eof'] as const).map((teardown) => {
    const judged = cutsOf(plan, positions, teardown).map(({ offset }): JudgedCut => {
      const verdict = verdictAt(offset);
      return { offset, verdict, because: `${verdict} <because>` };
    });
    return teardownOf(plan, teardown, judged.toReversed());
  });
  return {
    version: SWEEP_VERSION,
    kind: 'sweep',
    client: 'made-by-hand',
    clientVersion: 'hand 1.0',
    protocol: 'openai-chat',
    date: '2026-11-30T12:00:00.000Z',
    platform: 'linux x64',
    node: 'v20.20.2',
    wirefault: '0.1.0',
    way: 'driver',
    positions,
    seed: 7,
    paragraphs: 1,
    retries: 0,
    timeoutMs: 1000,
    jobs: 1,
    durationMs: 1500,
    cutsPerMinute: 40_000,
    answer: {
      bytes: plan.bytes.length,
      sha256: '0'.repeat(64),
      terminal: { start: terminal.start, end: terminal.end },
      marks: plan.marks.map((mark) => ({
        label: labelOf(mark),
        kind: mark.kind,
        name: mark.name ?? null,
        role: mark.role ?? null,
        start: mark.start,
        end: mark.end,
      })),
    },
    teardowns,
  };
}

describe('ranges', () => {
  it('neighbors with one verdict are one, whatever order they came in', () => {
    const [fin] = sweepWith().teardowns;
    expect(fin?.ranges.map(({ verdict, first, last, cuts }) => [verdict, first, last, cuts])).toEqual([
      ['detected', 0, 349, 350],
      ['hang', 350, 350, 1],
      ['detected', 351, 399, 49],
      ['silent', 400, terminal.end - 1, terminal.end - 400],
      ['complete', terminal.end, plan.bytes.length, plan.bytes.length - terminal.end + 1],
    ]);
    expect(fin?.verdicts).toEqual({
      detected: 399,
      hang: 1,
      silent: terminal.end - 400,
      complete: plan.bytes.length - terminal.end + 1,
    });
  });

  it('are printed with the silent ones first, and with marks at their borders', () => {
    const lines = sweepText(sweepWith(), plain).split('\n');
    const fin = lines.findIndex((line) => line.startsWith('fin: '));
    expect(lines[0]).toBe(
      `made-by-hand (hand 1.0), openai-chat: ${plan.bytes.length.toLocaleString('en-US')} bytes, ` +
        `${plan.marks.filter(({ kind }) => kind === 'event').length} events, terminal at ${terminal.start} to ${terminal.end}`,
    );
    expect(lines[1]).toMatch(/ cuts at every-byte in 1\.5 s, 40,000 a minute$/);
    expect(lines[fin + 1]).toMatch(/^ {2}silent {4}400\.\.\d+ +from \d+ bytes into .* to 13 bytes into the terminal/);
    expect(lines[fin + 2]).toBe('      silent <because>');
    expect(lines.slice(fin + 3, fin + 12).filter((_, n) => n % 2 === 0)).toEqual([
      expect.stringMatching(/^ {2}hang {6}350 /),
      expect.stringMatching(/^ {2}detected {2}0\.\.349 +from before the answer to /),
      expect.stringMatching(/^ {2}detected {2}351\.\.399/),
      expect.stringMatching(/^ {2}complete /),
      '',
    ]);
  });
});

describe('the picture', () => {
  const groups = (elements: readonly Element[], word: string): Element[] =>
    elements.filter(
      ({ name, children }) => name === 'g' && children[0]?.name === 'title' && children[0].text.startsWith(word),
    );
  const sides = (group: Element | undefined): { left: number; right: number } => {
    const box = group?.children.find(({ name }) => name === 'rect');
    const left = Number(box?.attributes.get('x'));
    return { left, right: left + Number(box?.attributes.get('width')) };
  };

  it('is XML with a title, the ranges in words, and no script or link', () => {
    const svg = sweepSvg(sweepWith(), plan);
    const root = parsed(svg);
    expect(root.attributes.get('role')).toBe('img');
    expect(root.children.find(({ name }) => name === 'title')?.text).toBe(
      'made-by-hand, openai-chat: one answer cut at every byte',
    );
    expect(root.children.find(({ name }) => name === 'desc')?.text).toContain('silent at bytes 400 to');
    expect(svg).toContain('prefers-color-scheme:dark');
    expect(svg).not.toMatch(/script|href|url\(/);
  });

  it('a strip for each teardown, whose colors meet at the borders of its ranges', () => {
    const elements = elementsOf(parsed(sweepSvg(sweepWith(), plan)));
    const silent = groups(elements, 'silent at bytes 400');
    expect(silent).toHaveLength(2);
    const [fin] = silent;
    const [complete] = groups(elements, 'complete at bytes');
    expect(Math.abs(sides(complete).left - sides(fin).right)).toBeLessThanOrEqual(1);
    expect(fin?.attributes.get('class')).toBe('end-hard');
    // The line at the terminal's end is that border.
    const [line] = groups(elements, 'the terminal is whole');
    expect(Math.abs(sides(line).left + 1 - sides(complete).left)).toBeLessThanOrEqual(0.2);
  });

  it('a single byte is seen', () => {
    const [hang] = groups(elementsOf(parsed(sweepSvg(sweepWith(), plan))), 'hang at byte 350');
    const { left, right } = sides(hang);
    expect(right - left).toBeGreaterThanOrEqual(3);
  });

  it('cuts with others between them are a box each', () => {
    const sweep = sweepWith({ positions: 'every-event', hangAt: -1 });
    const elements = elementsOf(parsed(sweepSvg(sweep, plan)));
    const [fin] = sweep.teardowns;
    for (const { verdict, first, cuts } of fin?.ranges ?? []) {
      const [group] = groups(elements, `${verdict} at byte${cuts === 1 ? '' : 's'} ${first}`);
      const boxes = group?.children.filter(({ name }) => name === 'rect') ?? [];
      expect(boxes).toHaveLength(cuts === 1 ? 1 : cuts + 1);
    }
  });
});

describe('the file', () => {
  it('is read as it was written, beside others', async () => {
    const dir = await folder();
    expect(await readSweeps(dir)).toEqual([]);
    const sweep = sweepWith();
    const path = `${sweepPath(dir, sweep)}.json`;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(sweep));
    expect(await readSweeps(dir)).toEqual([sweep]);
    await writeFile(path.replace('made', 'more'), '{"version":1}');
    await expect(readSweeps(dir)).rejects.toThrow(/more-by-hand-openai-chat\.json: not a sweep: /);
  });
});
