import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished, type TestContext } from 'vitest';

/** Debian's Chromium, which playwright-core doesn't bring along. */
const FOUND = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();

/** It does nothing by itself: no updates, no first steps, no network of its own. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser without a window, closed when the test is done. Skips the test where there is none. */
export async function browserFor(ctx: TestContext): Promise<Browser> {
  if (FOUND === '') ctx.skip('chromium is not installed');
  const browser = await chromium.launch({ executablePath: FOUND, args: ARGUMENTS });
  onTestFinished(() => browser.close());
  return browser;
}
