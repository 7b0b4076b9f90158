import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** A name's suffix, the protocol, the client's word for it, and where it is pointed at. */
type Api = readonly [suffix: string, Protocol, word: string, baseURL: string];

/** opencode, at all three protocols. */
const OPENCODE: readonly Api[] = [
  ['', 'openai-chat', '@ai-sdk/openai-compatible', '{{baseURL}}/v1'],
  ['-responses', 'openai-responses', '@ai-sdk/openai', '{{baseURL}}/v1'],
  ['-messages', 'anthropic-messages', '@ai-sdk/anthropic', '{{baseURL}}/v1'],
];

/** A clean end without a terminal makes it ask again at once, for ever. */
export const OPENCODE_CLIENTS: readonly TrialClient[] = OPENCODE.map(
  ([suffix, protocol, npm, baseURL]): TrialClient => {
    const models = { 'mock-model': { name: 'mock-model', limit: { context: 128_000, output: 8192 } } };
    const mock = { npm, name: 'mock', options: { baseURL, apiKey: '{{key}}' }, models };
    const config = { autoupdate: false, share: 'disabled', provider: { mock }, model: 'mock/mock-model' };
    return {
      name: `opencode${suffix}`,
      protocol,
      command: ['opencode', 'run', '--model', 'mock/mock-model', '--title', 't', '{{prompt}}'],
      env: {
        OPENCODE_CONFIG: '{{dir}}/opencode.json',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_SHARE: '1',
      },
      files: { 'opencode.json': JSON.stringify(config) },
      match: { json: { 'tools.length': '>0' } },
      output: { kind: 'text' },
      version: ['opencode', '--version'],
      install: 'npm i -g opencode-ai',
    };
  },
);
