import { type Rows, SUCCESS, turn } from './row.js';

/**
 * The truncation faults of cross-client studies. `F1+` to `F5+` are their positive controls: of the same shape, with the
 * provider's in-band error, which a client's detection has to notice; so that a client's silence about the other can be
 * told from a fault that never worked. Before a reset there is a pause: fetch throws away what it has, but has not handed
 * on, when one comes, the error of a positive control too.
 */
export const STUDIES = {
  F0: {
    layer: 'answer',
    meaning: 'a healthy answer, against which the others are held',
    fault: { answer: turn(SUCCESS) },
  },
  F1: {
    layer: 'connection',
    meaning: 'half of the text, then RST; F1@event:K for another place',
    fault: { answer: turn(SUCCESS), cut: { at: 'half', teardown: 'rst', delayMs: 'disconnectDelayMs' } },
  },
  'F1+': {
    layer: 'connection',
    meaning: "half of the text, the provider's error, then RST",
    fault: {
      answer: turn(SUCCESS),
      events: [{ op: 'end_after_half' }, { op: 'insert', event: 'stream_error' }],
      cut: { at: 'events', teardown: 'rst', delayMs: 'disconnectDelayMs' },
    },
  },
  F2: {
    layer: 'protocol',
    meaning: 'half of the text, then a correct HTTP end: no finish, no terminal; F2@event:K for another place',
    fault: { answer: turn(SUCCESS), cut: { at: 'half', teardown: 'eof' } },
  },
  'F2+': {
    layer: 'protocol',
    meaning: "half of the text, the provider's error, then a correct HTTP end",
    fault: { answer: turn(SUCCESS), events: [{ op: 'end_after_half' }, { op: 'insert', event: 'stream_error' }] },
  },
  F3: {
    layer: 'protocol',
    meaning: 'all of the text, then a correct HTTP end: no finish, no terminal',
    fault: { answer: turn(SUCCESS), cut: { at: 'deltas', teardown: 'eof' } },
  },
  'F3+': {
    layer: 'protocol',
    meaning: "all of the text, the provider's error, then a correct HTTP end",
    fault: { answer: turn(SUCCESS), events: [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }] },
  },
  F4: {
    layer: 'answer',
    meaning:
      'half of the text under a finish that says so (length, response.incomplete, max_tokens), all terminals correct',
    fault: { answer: turn({ text: 'half', finish: 'length' }) },
  },
  'F4+': {
    layer: 'protocol',
    meaning: "half of the text, and the provider's error where the finish would be",
    fault: {
      answer: turn({ text: 'half', finish: 'length' }),
      events: [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }],
    },
  },
  F5: {
    layer: 'answer',
    meaning: 'half of the text under a normal finish and terminal, which no protocol can tell from a whole answer',
    fault: { answer: turn({ text: 'half', finish: 'stop' }) },
  },
  'F5+': {
    layer: 'protocol',
    meaning: "half of the text, and the provider's error where the normal finish would be",
    fault: {
      answer: turn({ text: 'half', finish: 'stop' }),
      events: [{ op: 'end_after_deltas' }, { op: 'insert', event: 'stream_error' }],
    },
  },
} satisfies Rows;
