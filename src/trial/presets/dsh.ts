import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** A name's suffix, the protocol, the client's word for it, and where it is pointed at. */
type Api = readonly [suffix: string, Protocol, word: string, baseURL: string];

/** DeepSeek's dsh, at all three protocols. */
const DSH: readonly Api[] = [
  ['', 'openai-chat', 'openai-completions', '{{baseURL}}/v1'],
  ['-responses', 'openai-responses', 'openai-responses', '{{baseURL}}/v1'],
  ['-messages', 'anthropic-messages', 'anthropic-messages', '{{baseURL}}'],
];

/** Its title request goes out beside the main one, on a socket of its own; it has no tools. */
export const DSH_CLIENTS: readonly TrialClient[] = DSH.map(
  ([suffix, protocol, api, baseURL]): TrialClient => ({
    name: `dsh${suffix}`,
    protocol,
    command: ['dsh', '--profile', 'headless', '{{prompt}}'],
    env: { DSH_HOME: '{{dir}}/.dsh', MOCK_API_KEY: '{{key}}' },
    files: {
      '.dsh/settings.yaml': `agent-default-model:
  provider: mock
  model: mock-model
llm-pi-ai:
  providers:
    mock:
      api: ${api}
      baseURL: ${baseURL}
      apiKeyEnv: MOCK_API_KEY
      models:
        - id: mock-model
`,
    },
    match: { json: { 'tools.length': '>0' } },
    output: { kind: 'text' },
    version: ['dsh', '--version'],
    install: 'pnpm add -g @deepseek-ai/dsh (needs Node 22)',
  }),
);
