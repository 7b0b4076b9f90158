import type { Protocol } from '../../sse/dialect.js';
import type { TrialClient } from '../client.js';

/** npm's SDKs, each under a small program of ours that does what their README says. They are looked for from here. */
interface Driver {
  readonly name: string;
  readonly protocol: Protocol;
  readonly driver: string;
  readonly packages: readonly string[];
  readonly args?: readonly string[];
}

/** What APIs and SDKs call the end of a whole answer. */
const WHOLE = ['stop', 'end_turn', 'completed'];

const DRIVERS: readonly Driver[] = [
  { name: 'node-fetch', protocol: 'openai-chat', driver: 'node-fetch', packages: [] },
  { name: 'sdk-openai-chat', protocol: 'openai-chat', driver: 'openai-chat', packages: ['openai'] },
  { name: 'sdk-openai-chat-helper', protocol: 'openai-chat', driver: 'openai-chat-helper', packages: ['openai'] },
  { name: 'sdk-openai-responses', protocol: 'openai-responses', driver: 'openai-responses', packages: ['openai'] },
  { name: 'sdk-anthropic', protocol: 'anthropic-messages', driver: 'anthropic', packages: ['@anthropic-ai/sdk'] },
  {
    name: 'sdk-anthropic-raw',
    protocol: 'anthropic-messages',
    driver: 'anthropic-raw',
    packages: ['@anthropic-ai/sdk'],
  },
  ...(
    [
      ['openai-chat', 'openai-chat', '@ai-sdk/openai'],
      ['openai-responses', 'openai-responses', '@ai-sdk/openai'],
      ['anthropic', 'anthropic-messages', '@ai-sdk/anthropic'],
      ['compatible', 'openai-chat', '@ai-sdk/openai-compatible'],
    ] as const
  ).map(([provider, protocol, from]) => ({
    name: `sdk-ai-${provider === 'compatible' ? 'compat' : provider}`,
    protocol,
    driver: 'ai',
    packages: ['ai', from],
    args: [provider],
  })),
  ...(['chat', 'responses'] as const).map((api) => ({
    name: `sdk-langchain-${api}`,
    protocol: `openai-${api}` as const,
    driver: 'langchain',
    packages: ['@langchain/openai', '@langchain/core'],
    args: [api],
  })),
];

const FOLDER = '{{package}}/trial/drivers/';

/** How a driver is started, and how what it tells is read. */
export function drivenBy(driver: string, args: readonly string[]): Pick<TrialClient, 'command' | 'output'> {
  return {
    command: ['{{node}}', `${FOLDER}${driver}.js`, '{{baseURL}}', '{{key}}', '{{prompt}}', ...args],
    output: { kind: 'json', text: 'text', error: 'error', finish: { at: 'finish', whole: WHOLE } },
  };
}

/** Whether a client is one of our drivers, which can ask many questions within one process. */
export function isDriver({ command }: TrialClient): boolean {
  return command[1]?.startsWith(FOLDER) ?? false;
}

export const SDK_CLIENTS: readonly TrialClient[] = DRIVERS.map(({ name, protocol, driver, packages, args = [] }) => ({
  name,
  protocol,
  ...drivenBy(driver, args),
  version: ['{{node}}', '{{package}}/trial/drivers/versions.js', ...(packages.length > 0 ? packages : ['node'])],
  needs: packages,
  ...(packages.length > 0 ? { install: `npm i ${packages.join(' ')}` } : {}),
}));
