import { stepsOfPath } from './json-path.js';
import type { FaultSpec } from './spec.js';
import { requestBytesOf } from './stage.js';

/** What a fault says that can't be done together, whatever it is asked for. */
export interface FaultProblem {
  /** Where in the fault. */
  readonly path: readonly (string | number)[];
  /** One line: what, and what to do instead. */
  readonly message: string;
}

const LISTEN_KEYS = ['refuseMs', 'refuseAttempts', 'blackholeMs'] as const;

type Rule = (fault: FaultSpec) => readonly FaultProblem[];

const problem = (path: FaultProblem['path'], message: string): FaultProblem[] => [{ path, message }];

/** One rule, one row. */
const RULES: readonly Rule[] = [
  ({ listen, ...rest }) => {
    if (!listen) return [];
    const given = LISTEN_KEYS.filter((key) => listen[key] !== undefined);
    if (given.length !== 1)
      return problem(['listen'], `has ${given.length} of ${LISTEN_KEYS.join(', ')}; give exactly one`);
    const others = Object.entries(rest).filter(([, value]) => value !== undefined);
    const [other] = others[0] ?? [];
    return other ? problem([other], `a fault of the port has no connection, so it can't have ${other}`) : [];
  },
  (fault) => {
    if (requestBytesOf(fault) === undefined) return [];
    const { cut } = fault;
    if (cut?.teardown === 'eof')
      return problem(['cut', 'teardown'], `eof needs an answer, and there is none at ${cut.at}; use fin`);
    const [layer] = (['request', 'pace', 'segments'] as const).filter((key) => fault[key] !== undefined);
    return layer ? problem([layer], `nothing is answered at ${cut?.at}, so ${layer} has no meaning`) : [];
  },
  ({ cut }) =>
    cut?.teardown === 'eof' && /^(byte|chunk|last_chunk|status_line|headers:|request)/.test(cut.at)
      ? problem(
          ['cut', 'at'],
          `eof ends the body correctly, so it needs a place in the body; ${cut.at} is one of the wire`,
        )
      : [],
  ({ splice = [] }) =>
    splice.flatMap(({ at, layer }, n) =>
      layer !== 'wire' && /^(byte|chunk|last_chunk|status_line|headers|request|accept)/.test(at)
        ? problem(['splice', n, 'at'], `${at} is a place of the wire; say layer: wire`)
        : [],
    ),
  ({ splice = [] }) =>
    splice.flatMap((splice, n) =>
      splice.text === undefined && splice.hex === undefined && splice.remove === undefined
        ? problem(['splice', n], 'puts nothing in and takes nothing out; give text, hex or remove')
        : [],
    ),
  ({ framing }) =>
    framing?.kind !== undefined && framing.kind !== 'chunked'
      ? (['chunks', 'extension', 'sizes', 'trailers', 'last'] as const)
          .filter((key) => framing[key] !== undefined)
          .flatMap((key) =>
            problem(['framing', key], `only a chunked body has ${key}, and this one is ${framing.kind}`),
          )
      : [],
  ({ pace, cut }) =>
    pace?.pulse && pace.pulse.times === undefined && cut && cut.teardown !== 'stall'
      ? problem(['pace', 'pulse'], `a pulse for ever never comes to the cut; give times, or the teardown stall`)
      : [],
  ({ pace, framing }) =>
    pace?.pulse && framing?.chunks !== undefined && framing.chunks !== 'event'
      ? problem(['framing', 'chunks'], 'an event that pulses needs a chunk of its own; leave chunks out')
      : [],
  ({ idle }) => {
    if (!idle) return [];
    const { teardown, afterMs, onRequest, stray } = idle;
    if (afterMs !== undefined && onRequest !== undefined && onRequest > 1)
      return problem(
        ['idle', 'onRequest'],
        'with afterMs it is the first request after that time, so it can only be 1',
      );
    if (teardown === undefined && (afterMs !== undefined || onRequest !== undefined))
      return problem(['idle'], 'has a moment, but no teardown; give fin or rst');
    return teardown === undefined && stray === undefined
      ? problem(['idle'], 'does nothing; give a teardown or stray')
      : [];
  },
  ({ idle, cut }) =>
    idle && cut && cut.teardown !== 'eof'
      ? problem(['idle'], `the connection ends with ${cut.teardown}, so nothing comes behind the answer`)
      : [],
  ({ segments }) =>
    segments && segments.at === undefined && segments.everyBytes === undefined
      ? problem(['segments'], 'ends no segment; give at or everyBytes')
      : [],
  ({ events = [] }) =>
    events.flatMap((edit, n) =>
      edit.op === 'patch' && stepsOfPath(edit.path) === undefined
        ? problem(
            ['events', n, 'path'],
            `${JSON.stringify(edit.path)} is no path into JSON, such as choices[0].delta.content`,
          )
        : [],
    ),
  ({ head }) =>
    head?.raw !== undefined && Object.keys(head).length > 1
      ? problem(['head', 'raw'], 'is the whole head, so nothing else of it can be set')
      : [],
];

/** What can't be done in a fault, all at once; nothing for a good one. */
export function problemsOf(fault: FaultSpec): readonly FaultProblem[] {
  return RULES.flatMap((rule) => rule(fault));
}
