import type { ClientName } from './clients-connection.js';
import { each, type Outcome } from './outcomes.js';

/** Section A: connection lifecycle. */
type Does = Readonly<Record<ClientName, string>>;

/** The whole text, in so many tries of those that try again by themselves. */
function well(tries: string, how: string): Omit<Does, 'fetch' | 'undici'> {
  const openai = `returns the whole text, finish stop${tries}${how}`;
  const anthropic = `returns the whole text, finish end_turn${tries}${how}`;
  return {
    'openai (chat)': openai,
    'openai (responses)': `returns the whole text, finish completed${tries}${how}`,
    '@anthropic-ai/sdk': anthropic,
    '@anthropic-ai/sdk (helper)': anthropic,
    'ai + @ai-sdk/openai-compatible': openai,
    'ai + @ai-sdk/anthropic': openai,
  };
}

function fetches(does: string): Pick<Does, 'fetch' | 'undici'> {
  return { fetch: does, undici: does };
}

const NEW = ' (new connection)';
const REPLAYED = well(', in 2 tries', NEW);
const ANSWERED = { ...fetches(`returns the whole text, finish stop${NEW}`), ...well('', NEW) };

const REFUSED = 'throws APIConnectionError (ECONNREFUSED), in 3 tries';
const GIVEN_UP = 'reports AI_RetryError (ECONNREFUSED), no finish, in 3 tries';

export const LIFECYCLE: Readonly<Record<string, readonly Outcome[]>> = {
  B01: [
    ...each(['refused'], {
      ...fetches('throws TypeError "fetch failed" (ECONNREFUSED)'),
      'openai (chat)': REFUSED,
      'openai (responses)': REFUSED,
      '@anthropic-ai/sdk': REFUSED,
      '@anthropic-ai/sdk (helper)': REFUSED,
      'ai + @ai-sdk/openai-compatible': GIVEN_UP,
      'ai + @ai-sdk/anthropic': GIVEN_UP,
    } satisfies Does),
    ...each(['refused_twice'], {
      ...fetches('throws TypeError "fetch failed" (ECONNREFUSED)'),
      ...well(', in 3 tries', ''),
    } satisfies Does),
  ],
  B02: [
    ...each(['fin_on_first_byte', 'fin_on_last_byte'], {
      ...fetches('throws TypeError "fetch failed" (UND_ERR_SOCKET)'),
      ...REPLAYED,
    }),
    ...each(['rst_on_first_byte', 'rst_on_last_byte'], {
      ...fetches('throws TypeError "fetch failed" (ECONNRESET)'),
      ...REPLAYED,
    }),
  ],
  B03: [
    ...each(['fin_when_idle'], ANSWERED),
    ...each(['rst_on_next_data'], { ...fetches('throws TypeError "fetch failed" (ECONNRESET)'), ...REPLAYED }),
  ],
  B04: each(['fin_at_once'], ANSWERED),
  B06: each(['early_413'], {
    ...fetches('gets the status 413'),
    'openai (chat)': 'throws APIError (413)',
    'openai (responses)': 'throws APIError (413)',
    '@anthropic-ai/sdk': 'throws ContentTooLargeError (413)',
    '@anthropic-ai/sdk (helper)': 'throws ContentTooLargeError (413)',
    'ai + @ai-sdk/openai-compatible': 'reports AI_APICallError (413), no finish',
    'ai + @ai-sdk/anthropic': 'reports AI_APICallError (413), no finish',
  } satisfies Does),
};
