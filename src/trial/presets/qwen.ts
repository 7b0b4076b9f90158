import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** A name's suffix, the protocol, the client's word for it, and where it is pointed at. */
type Api = readonly [suffix: string, Protocol, word: string, baseURL: string];

/** Qwen Code, at all three protocols. */
const QWEN: readonly Api[] = [
  ['', 'openai-chat', 'openai', '{{baseURL}}/v1'],
  ['-responses', 'openai-responses', 'openai-responses', '{{baseURL}}/v1'],
  ['-messages', 'anthropic-messages', 'anthropic', '{{baseURL}}'],
];

const QWEN_SETTINGS = JSON.stringify({
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
});

export const QWEN_CLIENTS: readonly TrialClient[] = QWEN.map(
  ([suffix, protocol, auth, baseURL]): TrialClient => ({
    name: `qwen${suffix}`,
    protocol,
    command: ['qwen', '--auth-type', auth, '-m', 'mock-model', '{{prompt}}'],
    env: {
      QWEN_HOME: '{{dir}}/.qwen',
      OPENAI_API_KEY: '{{key}}',
      OPENAI_BASE_URL: baseURL,
      OPENAI_MODEL: 'mock-model',
      ANTHROPIC_API_KEY: '{{key}}',
      ANTHROPIC_BASE_URL: baseURL,
      ANTHROPIC_MODEL: 'mock-model',
    },
    files: { '.qwen/settings.json': QWEN_SETTINGS },
    match: { json: { 'tools.length': '>0' } },
    avoid: 'managed memory extraction subagent',
    output: { kind: 'text' },
    version: ['qwen', '--version'],
    install: 'npm i -g @qwen-code/qwen-code (needs Node 22)',
  }),
);
