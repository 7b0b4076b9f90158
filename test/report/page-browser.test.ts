import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, it, type TestContext } from 'vitest';
import { loadReport } from '../../src/report/load.js';
import { reportPage } from '../../src/report/page.js';
import { REQUEST } from '../proof/ledgers.js';
import { browserFor } from '../support/browser.js';
import { HOSTILE } from './hostile.js';
import { ABSENT, broken, everything, exchange, FINDING, matrixFolder, run } from './samples.js';

interface Opened {
  readonly page: Page;
  readonly url: string;
  /** Of the console and of scripts. */
  readonly complaints: readonly string[];
  readonly requests: readonly string[];
}

async function opened(ctx: TestContext, folder: string, hash = ''): Promise<Opened> {
  const browser = await browserFor(ctx);
  const report = await loadReport([folder], { evidence: true, bytesDir: undefined, controlToken: undefined });
  const file = join(folder, 'report.html');
  await writeFile(file, reportPage(report));
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  const url = pathToFileURL(file).href;
  await page.goto(url + hash);
  return { page, url, complaints, requests };
}

/** Where the focus is, as it is read out. */
const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate('document.activeElement.getAttribute("aria-label")');
const openTitle = (page: Page): Promise<string | null> => page.locator('dialog[open] h2').textContent();

describe('the page in Chromium', () => {
  it('is drawn, opens cells by mouse, asks for nothing and complains of nothing', async (ctx) => {
    const { page, url, complaints, requests } = await opened(ctx, await everything());
    expect(await page.locator('table.heat button').allTextContents()).toEqual([
      'complete',
      'flaky silent 1/2',
      'complete',
      'duplicated',
      'hang',
    ]);
    expect(await page.locator('dialog[open]').count()).toBe(0);
    await page.getByRole('button', { name: 'tui under F2' }).click();
    const dialog = page.locator('dialog[open]');
    expect(await openTitle(page)).toBe('tui under F2 duplicated');
    expect(await dialog.locator('svg').count()).toBe(2);
    expect(await dialog.locator('svg').first().boundingBox()).toMatchObject({ width: 900 });
    expect(await dialog.getByText('once and once again').isVisible()).toBe(true);
    expect(await dialog.getByRole('row', { name: '1 → 2' }).textContent()).toContain('512 ms');
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await page.locator('dialog[open]').count()).toBe(0);
    // A finding leads to its cell.
    await page.getByRole('link', { name: 'F2' }).click();
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(1);
    expect(await openTitle(page)).toBe('tui under F2 duplicated');
    expect(complaints).toEqual([]);
    expect(requests).toEqual([url]);
  });

  it('is used by keyboard', async (ctx) => {
    const { page, url, complaints } = await opened(ctx, await everything());
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('sdk under F0: complete, 1 run');
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('sdk under F2: flaky silent 1/2, 2 runs');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    // Nothing was run there.
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('sdk under F2: flaky silent 1/2, 2 runs');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    expect(await focused(page)).toBe('tui under F3: hang, 1 run');
    await page.keyboard.press('Home');
    expect(await focused(page)).toBe('tui under F0: complete, 1 run');
    await page.keyboard.press('ArrowRight');

    await page.keyboard.press('Enter');
    expect(await openTitle(page)).toBe('tui under F2 duplicated');
    await expect.poll(() => page.url()).toMatch(/#cell-\d+$/);
    // The focus stays within.
    for (let n = 0; n < 12; n++) await page.keyboard.press('Tab');
    expect(
      await page.evaluate('document.activeElement === document.body || !!document.activeElement.closest("dialog")'),
    ).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.locator('dialog[open]').count()).toBe(0);
    expect(await focused(page)).toBe('tui under F2: duplicated, 1 run');
    // The dialog tells that it is closed a little later.
    await expect.poll(() => page.url()).toBe(url);
    // The heat map is one stop of the Tab key.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('!!document.activeElement.closest("table.heat")')).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('opens the cell of its address, and takes the focus to it', async (ctx) => {
    const { page } = await opened(ctx, await everything(), '#cell-2');
    expect(await openTitle(page)).toBe('sdk under F2 flaky silent 1/2');
    await page.keyboard.press('Escape');
    expect(await focused(page)).toBe('sdk under F2: flaky silent 1/2, 2 runs');
  });

  it('can be read by day and by night, on narrow screens and on paper', async (ctx) => {
    const verdicts = [
      'complete',
      'recovered',
      'detected',
      'duplicated',
      'looping',
      'silent',
      'hang',
      'crash',
      'invalid',
    ];
    const runs = verdicts.map((verdict, n) =>
      run('sdk-openai-responses', `F${n}`, verdict as 'complete', {}, { evidence: { main: [] } }),
    );
    const { page } = await opened(ctx, await matrixFolder(runs));
    const backgrounds = new Set<unknown>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const contrasts: [string, number][] = await page.evaluate(CONTRASTS);
      expect(contrasts.length).toBeGreaterThan(20);
      expect(contrasts.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
      backgrounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    }
    expect(backgrounds.size).toBe(2);

    await page.setViewportSize({ width: 360, height: 700 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    // A name is broken into lines, not into letters.
    expect((await page.locator('table.heat tbody th').first().boundingBox())?.height).toBeLessThan(70);
    await page.locator('table.heat button').first().click();
    expect(await page.evaluate(BEYOND_DIALOG)).toBe(0);

    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('main').isVisible()).toBe(false);
    expect(await page.locator('dialog[open] h2').isVisible()).toBe(true);
    expect(await page.locator('dialog[open] .close').isVisible()).toBe(false);
  });

  it('is not led astray by what clients and servers have written', async (ctx) => {
    const ledger = broken({
      request: { ...REQUEST, path: HOSTILE },
      selection: { scripted: HOSTILE, behavior: HOSTILE, source: 'rule', rule: HOSTILE },
      cut: { position: HOSTILE, offset: 100, inside: HOSTILE },
      outcome: HOSTILE,
    });
    const dir = 'cells/hostile';
    const record = run(HOSTILE, HOSTILE, 'silent', {
      dir,
      because: HOSTILE,
      clientVersion: HOSTILE,
      platform: HOSTILE,
      foreign: [HOSTILE],
      findings: [{ ...FINDING, evidence: [HOSTILE], advice: HOSTILE }],
    });
    const evidence = {
      main: [ledger, exchange({ exchange: 2 })],
      stdout: HOSTILE,
      stderr: HOSTILE,
      structuredError: HOSTILE,
      auxiliary: [{ ...ledger, exchange: 3 }],
    };
    const terminal = run('tui', 'F0', 'hang', {}, { evidence, frames: [{ ms: 1, text: HOSTILE }] });
    const folder = await matrixFolder(
      [{ record: record.record, evidence }, terminal],
      [{ ...ABSENT, client: HOSTILE.slice(1), because: HOSTILE, install: HOSTILE }],
    );
    const { page, url, complaints, requests } = await opened(ctx, folder);
    expect(await page.locator('script').count()).toBe(1);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('body > dialog').count()).toBe(2);
    await page.locator('table.heat button').first().click();
    const output = await page.locator('dialog[open] pre').first().textContent();
    expect(output).toContain('</script><script>window.hacked = 1</script>');
    expect(output).toContain('\\x1b[2J\\x1b]0;owned\\x07\\r\\x00');
    expect(output).toContain('\\u{202e}gnp.exe');
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
    expect(requests).toEqual([url]);
  });
});

const BEYOND_DIALOG = '((one) => one.scrollWidth - one.clientWidth)(document.querySelector("dialog[open]"))';

/** Of all words that are seen, by WCAG 2.2's relative luminance; `[what it says, contrast]`. */
const CONTRASTS = `(() => {
  const rgba = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const { rgb, a } = rgba(getComputedStyle(at).backgroundColor);
      if (a > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const all = [...document.querySelectorAll('body *')].filter((one) =>
    one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''));
  return all.map((one) => {
    const [a, b] = [luminance(rgba(getComputedStyle(one).color).rgb), luminance(behind(one))];
    return [one.textContent, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
})()`;
