import type { TrialClient } from '../client.js';

/** Anthropic's Claude Code. After a fault it may ask once more without a stream. */
const common = {
  protocol: 'anthropic-messages',
  env: {
    CLAUDE_CONFIG_DIR: '{{dir}}/.claude',
    ANTHROPIC_BASE_URL: '{{baseURL}}',
    ANTHROPIC_API_KEY: '{{key}}',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  },
  match: { json: { 'tools.length': '>0' } },
  output: { kind: 'text' },
  version: ['claude', '--version'],
  install: 'npm i -g @anthropic-ai/claude-code',
} as const satisfies Partial<TrialClient>;

/** What it asks at its first start is answered already: the theme, the key (by its last 20 characters), the folder. */
const ANSWERED = JSON.stringify({
  hasCompletedOnboarding: true,
  theme: 'dark',
  customApiKeyResponses: { approved: ['wirefault-trial-key'], rejected: [] },
});

export const CLAUDE_CLIENTS: readonly TrialClient[] = [
  {
    ...common,
    name: 'claude',
    files: { '.claude/wirefault': '' },
    command: ['claude', '--bare', '-p', '{{prompt}}', '--model', 'mock-model'],
  },
  {
    ...common,
    name: 'claude-tui',
    files: { '.claude/.claude.json': ANSWERED },
    command: ['claude', '--bare', '--model', 'mock-model'],
    terminal: {
      type: [
        { when: '❯ (?:\\d\\. )?No \\(recommended\\)', keys: ['Up'], optional: true },
        { when: '❯ (?:\\d\\. )?Yes$', keys: ['Enter'], optional: true },
        // The folder is the run's own. Which answer is offered first has changed from version to version.
        { when: '❯ (?:\\d\\. )?No, exit', keys: ['Down'], optional: true },
        { when: '❯ (?:\\d\\. )?Yes, (?:I trust|proceed)', keys: ['Enter'], optional: true },
        // A menu has its choice behind the same sign.
        { when: '^\\s*[>❯]\\s*(?:Try .*)?$', text: '{{prompt}}', keys: ['Enter'] },
      ],
    },
  },
];
