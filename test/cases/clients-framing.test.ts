import { STREAMING } from './support/clients-connection.js';
import { busy, once, patient } from './support/plays-connection.js';
import { checkRuns } from './support/runs-connection.js';

/** What clients from npm do with section B of the reported cases, HTTP framing and teardown, held against the table. */

/** Those whose reader can be busy between two pieces. */
const { '@anthropic-ai/sdk (helper)': _, ...READERS } = STREAMING;

checkRuns([
  {
    id: 'B09',
    variants: [
      'fin_at_chunk',
      'rst_at_chunk',
      'fin_in_chunk',
      'rst_in_chunk',
      'keep_alive_fin_at_chunk',
      'keep_alive_rst_at_chunk',
    ],
    play: once,
  },
  { id: 'B10', variants: ['no_final_crlf', 'cut_trailer'], play: once },
  { id: 'B12', variants: ['fin_at_chunk'], play: once },
  { id: 'B13', variants: ['size_line_cut', 'data_cut', 'crlf_missing', 'size_not_hex'], play: once },
  {
    id: 'B14',
    variants: ['http10', 'no_length'].flatMap((head) =>
      ['fin', 'fin_in_event', 'rst', 'rst_in_event'].map((end) => `${head}_${end}`),
    ),
    play: once,
  },
  { id: 'B15', variants: ['half_until_close', 'half_in_chunks', 'no_trailer'], play: once },
  { id: 'B18', variants: ['rst_after_a_second'], play: patient },
  { id: 'B18', variants: ['rst_at_once'], play: once },
  { id: 'B19', variants: ['rst_between_reads', 'fin_between_reads'], play: busy, clients: READERS },
  { id: 'B20', variants: ['rst_after_role', 'rst_after_text'], play: once },
]);
