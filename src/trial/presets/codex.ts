import type { TrialClient } from '../client.js';

/** OpenAI's Codex. Without these switches it asks GitHub and ChatGPT for plugins. */
const SETTINGS = {
  model_provider: 'mock',
  model: '"mock-model"',
  'model_providers.mock.name': '"mock"',
  'model_providers.mock.base_url': '"{{baseURL}}/v1"',
  'model_providers.mock.wire_api': '"responses"',
  'model_providers.mock.env_key': '"MOCK_API_KEY"',
  check_for_update_on_startup: 'false',
  'analytics.enabled': 'false',
  'features.plugins': 'false',
  'features.remote_plugin': 'false',
  'features.apps': 'false',
  'features.plugin_sharing': 'false',
};

const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

const common = {
  protocol: 'openai-responses',
  // Its folder has to exist.
  files: { '.codex/wirefault': '' },
  env: { CODEX_HOME: '{{dir}}/.codex', MOCK_API_KEY: '{{key}}' },
  match: { json: { 'tools.length': '>0' } },
  output: { kind: 'text' },
  version: ['codex', '--version'],
  install: 'npm i -g @openai/codex',
} as const satisfies Partial<TrialClient>;

export const CODEX_CLIENTS: readonly TrialClient[] = [
  { ...common, name: 'codex', command: ['codex', 'exec', '--skip-git-repo-check', ...settings, '{{prompt}}'] },
  {
    ...common,
    name: 'codex-tui',
    command: ['codex', '--no-alt-screen', ...settings],
    terminal: {
      type: [
        { when: 'Do you trust|Yes, continue|Yes, allow', keys: ['Enter'], optional: true },
        { when: '^\\s*›', text: '{{prompt}}', keys: ['Enter'] },
      ],
    },
  },
];
