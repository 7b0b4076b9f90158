import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** A name's suffix, the protocol, the client's word for it, and where it is pointed at. */
type Api = readonly [suffix: string, Protocol, word: string, baseURL: string];

/** pi, at all three protocols. */
const PI: readonly Api[] = [
  ['', 'openai-chat', 'openai-completions', '{{baseURL}}/v1'],
  ['-responses', 'openai-responses', 'openai-responses', '{{baseURL}}/v1'],
  ['-messages', 'anthropic-messages', 'anthropic-messages', '{{baseURL}}'],
];

export const PI_CLIENTS: readonly TrialClient[] = PI.map(([suffix, protocol, api, baseUrl]): TrialClient => {
  const mock = { baseUrl, api, apiKey: '{{key}}', models: [{ id: 'mock-model' }] };
  return {
    name: `pi${suffix}`,
    protocol,
    command: ['pi', '-p', '--offline', '--no-session', '--provider', 'mock', '--model', 'mock-model', '{{prompt}}'],
    env: { PI_CODING_AGENT_DIR: '{{dir}}/.pi', PI_OFFLINE: '1', PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' },
    files: { '.pi/models.json': JSON.stringify({ providers: { mock } }) },
    match: { json: { 'tools.length': '>0' } },
    output: { kind: 'text' },
    version: ['pi', '--version'],
    install: 'npm i -g @earendil-works/pi-coding-agent (needs Node 22.19)',
  };
});
