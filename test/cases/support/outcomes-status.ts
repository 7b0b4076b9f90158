import { each, type Outcome } from './outcomes.js';
import type { RetryingClient } from './retries-protocol.js';

/** Section F: status and retry headers. What was told, waited for and done, with one retry allowed. */
const OWN = 'waits a back-off of its own, asks again and gets the answer';
const UNHELD = 'sets a timer that Node cannot hold and fires at once, asks again and gets the answer';
const DATE = 'waits until the date, asks again and gets the answer';
const waits = (seconds: string): string => `waits the ${seconds} s, asks again and gets the answer`;
const never = (error: string): string => `does not ask again: throws ${error}`;

const CLIENTS = [
  'openai (chat)',
  '@anthropic-ai/sdk',
  'ai + @ai-sdk/openai (chat)',
  'ai + @ai-sdk/anthropic',
  '@langchain/openai (chat)',
] as const satisfies readonly RetryingClient[];

type Lines = Readonly<Record<(typeof CLIENTS)[number], string>>;

/** In the order of `CLIENTS`, but for both providers of the AI SDK. */
function lines(openai: string, anthropic: string, ai: string, langchain: string): Lines {
  return {
    'openai (chat)': openai,
    '@anthropic-ai/sdk': anthropic,
    'ai + @ai-sdk/openai (chat)': ai,
    'ai + @ai-sdk/anthropic': ai,
    '@langchain/openai (chat)': langchain,
  };
}

const CAPACITY = never('RateLimitCapacityError');

const RETRY_AFTER: Readonly<Record<string, Lines>> = {
  half: lines(waits('0.5'), waits('0.5'), waits('0.5'), OWN),
  '61': lines(waits('61'), waits('61'), OWN, CAPACITY),
  '90': lines(waits('90'), waits('90'), OWN, CAPACITY),
  days: lines(
    `${waits('277403')}; an abort does not wake it`,
    `${waits('277403')}; an abort wakes it`,
    `${OWN}; an abort wakes it`,
    CAPACITY,
  ),
  date_near: lines(DATE, DATE, DATE, DATE),
  date_far: lines(UNHELD, OWN, OWN, CAPACITY),
  date_past: lines(UNHELD, OWN, OWN, OWN),
  negative: lines(UNHELD, OWN, OWN, OWN),
  junk: lines(UNHELD, OWN, OWN, CAPACITY),
};

/** LangChain reads the header of a 429 alone. */
function of(status: string, does: string, lines: Lines): Lines {
  if (status === '429') return lines;
  return { ...lines, '@langchain/openai (chat)': does === 'days' ? `${OWN}; an abort wakes it` : OWN };
}

export const STATUS: Readonly<Record<string, readonly Outcome[]>> = {
  B56: [
    ...['429', '529', '503'].flatMap((status) =>
      Object.entries(RETRY_AFTER).flatMap(([does, lines]) => each([`${status}_${does}`], of(status, does, lines))),
    ),
    ...each(['retry_after_ms'], lines(waits('1.5'), waits('1.5'), waits('1.5'), CAPACITY)),
    ...each(['should_retry'], lines(OWN, OWN, never('AI_APICallError'), never('BadRequestError'))),
    ...each(['should_not_retry'], lines(never('RateLimitError'), never('RateLimitError'), OWN, CAPACITY)),
    ...each(['in_stream'], {
      'openai (chat)': never('APIError'),
      'openai (responses)': never('APIError'),
      '@anthropic-ai/sdk': never('APIError'),
      'ai + @ai-sdk/openai (chat)': OWN,
      'ai + @ai-sdk/openai (responses)': never('AI_TypeValidationError'),
      'ai + @ai-sdk/anthropic': never('AI_APICallError'),
      '@langchain/openai (chat)': never('APIError'),
    }),
    ...each(['unread'], {
      'openai (chat)': '8 of 8 calls at once get the answer when they ask again',
      '@anthropic-ai/sdk': '8 of 8 calls at once get the answer when they ask again',
      'ai + @ai-sdk/openai (chat)': '8 of 8 calls at once get the answer when they ask again',
    }),
  ],
};
