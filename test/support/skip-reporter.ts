import type { Reporter, TestModule } from 'vitest/node';

/** Says at the end which tests were skipped, and why. */
export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    if (skipped.length === 0) return;
    process.stdout.write(`\n${skipped.length} skipped:\n`);
    for (const test of skipped) {
      const result = test.result();
      const why = 'note' in result && result.note ? result.note : 'no reason given';
      process.stdout.write(`  ${test.fullName}: ${why}\n`);
    }
  }
}
