import { STREAMING, WHOLE } from './support/clients-connection.js';
import { hanging, impatient, large } from './support/plays-connection.js';
import { checkRuns } from './support/runs-connection.js';

/** What clients from npm do with section C of the reported cases, time, held against the table. */

/** One of each parser: megabytes for all of them cost half a minute. */
const PARSERS = {
  fetch: STREAMING.fetch,
  'openai (chat)': STREAMING['openai (chat)'],
  '@anthropic-ai/sdk': STREAMING['@anthropic-ai/sdk'],
  'ai + @ai-sdk/openai-compatible': STREAMING['ai + @ai-sdk/openai-compatible'],
};

checkRuns([
  { id: 'B22', variants: ['silent'], play: hanging },
  { id: 'B23', variants: ['silent_in_body'], play: hanging, clients: WHOLE },
  { id: 'B24', variants: ['long_pause'], play: impatient },
  { id: 'B25', variants: ['ping_events', 'comments', 'empty_data', 'ids', 'retries'], play: hanging },
  { id: 'B27', variants: ['silent_after_terminal', 'keepalives_after_terminal'], play: hanging },
  { id: 'B28', variants: ['kib_segments', 'byte_segments', 'burst'], play: large, clients: PARSERS },
]);
