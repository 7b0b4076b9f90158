import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** Moonshot's Kimi Code from npm, at all three protocols, and the archived kimi-cli from PyPI. */
const PROVIDERS: readonly (readonly [name: string, Protocol, type: string, baseURL: string])[] = [
  ['kimi', 'openai-chat', 'openai', '{{baseURL}}/v1'],
  ['kimi-responses', 'openai-responses', 'openai_responses', '{{baseURL}}/v1'],
  ['kimi-messages', 'anthropic-messages', 'anthropic', '{{baseURL}}'],
];

const ORIGINAL = 'import sys; from kimi_cli.__main__ import run_original_cli; sys.exit(run_original_cli(sys.argv[1:]))';

const CLI_CONFIG = `default_model = "mock"
telemetry = false

[models.mock]
provider = "mock"
model = "mock-model"
max_context_size = 128000

[providers.mock]
type = "openai_legacy"
base_url = "{{baseURL}}/v1"
api_key = "{{key}}"
`;

export const KIMI_CLIENTS: readonly TrialClient[] = [
  ...PROVIDERS.map(
    ([name, protocol, type, baseURL]): TrialClient => ({
      name,
      protocol,
      command: ['kimi', '-p', '{{prompt}}'],
      env: {
        KIMI_CODE_HOME: '{{dir}}/.kimi-code',
        KIMI_MODEL_NAME: 'mock-model',
        KIMI_MODEL_API_KEY: '{{key}}',
        KIMI_MODEL_PROVIDER_TYPE: type,
        KIMI_MODEL_BASE_URL: baseURL,
        KIMI_MODEL_MAX_CONTEXT_SIZE: '128000',
        KIMI_DISABLE_TELEMETRY: '1',
        KIMI_CODE_NO_AUTO_UPDATE: '1',
      },
      match: { json: { 'tools.length': '>0' } },
      output: { kind: 'text' },
      version: ['kimi', '--version'],
      install: 'npm i -g @moonshot-ai/kimi-code (needs Node 22.19)',
    }),
  ),
  {
    name: 'kimi-cli',
    about: 'the archived Python program: its last release only says so, but still has the original entry point',
    protocol: 'openai-chat',
    command: [
      'python3',
      '-c',
      ORIGINAL,
      '--config-file',
      '{{dir}}/config.toml',
      '--print',
      '--final-message-only',
      '-p',
      '{{prompt}}',
    ],
    files: { 'config.toml': CLI_CONFIG },
    env: { KIMI_SHARE_DIR: '{{dir}}/.kimi', KIMI_CLI_NO_AUTO_UPDATE: '1' },
    match: { json: { 'tools.length': '>0' } },
    output: { kind: 'text' },
    version: ['python3', '-c', 'from kimi_cli.constant import get_version; print("kimi-cli", get_version())'],
    probe: ['python3', '-c', 'import kimi_cli'],
    install: 'pip install kimi-cli==1.52.0 (needs Python 3.12, which has to be python3)',
  },
];
