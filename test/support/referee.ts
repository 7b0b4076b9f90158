import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The independent referee of dialects, which isn't ours. It stands beside the checkout. */
// By its real path: run through a link it wouldn't know itself for the program, and do nothing.
const REFEREE = realpathSync(fileURLToPath(new URL('../../../shared/dialects/check-dialect.mjs', import.meta.url)));

export interface Verdict {
  readonly ok: boolean;
  readonly terminal: string;
  readonly errors: readonly { readonly rule: string; readonly msg: string }[];
}

export type RefereeProtocol = 'openai-chat' | 'deepseek-chat' | 'compat-chat' | 'openai-responses' | 'anthropic';

interface Referee {
  check(
    protocol: RefereeProtocol,
    body: Buffer,
    options: { readonly allowTruncated?: boolean; readonly expect?: readonly string[] },
  ): Verdict;
}

const { check }: Referee = await import(REFEREE);

/** The referee's verdict on a body, and the rules that it breaks. */
export function judge(
  protocol: RefereeProtocol,
  body: Buffer,
  options: { readonly allowTruncated?: boolean; readonly expect?: readonly string[] } = {},
): Verdict & { readonly rules: readonly string[] } {
  const verdict = check(protocol, body, options);
  return { ...verdict, rules: [...new Set(verdict.errors.map(({ rule }) => rule))] };
}

/** The referee as a command of its own: its exit code and what it printed. */
export function judgeByCommand(
  protocol: RefereeProtocol,
  body: Buffer,
  ...args: string[]
): { code: number | null; out: string } {
  const { status, stdout } = spawnSync(process.execPath, [REFEREE, protocol, '-', ...args], { input: body });
  return { code: status, out: stdout.toString() };
}
