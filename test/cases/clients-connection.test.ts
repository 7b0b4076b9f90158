import { attemptsCountable } from '../../src/net/syn-counter.js';
import { afterIdle, atOnce, pooled, refused, uploading } from './support/plays-connection.js';
import { checkRuns } from './support/runs-connection.js';

/** What clients from npm do with section A of the reported cases, connection lifecycle, held against the table. */
checkRuns([
  {
    id: 'B01',
    variants: ['refused', 'refused_twice'],
    play: refused,
    impossible: { refused_twice: await attemptsCountable() },
  },
  {
    id: 'B02',
    variants: ['fin_on_first_byte', 'rst_on_first_byte', 'fin_on_last_byte', 'rst_on_last_byte'],
    play: pooled,
  },
  { id: 'B03', variants: ['fin_when_idle', 'rst_on_next_data'], play: afterIdle },
  { id: 'B04', variants: ['fin_at_once'], play: atOnce },
  { id: 'B06', variants: ['early_413'], play: uploading },
]);
