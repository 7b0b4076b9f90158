import type { Ledger } from '../../../src/proof/ledger.js';
import type { RunEvidence } from '../../../src/trial/evidence.js';
import { ledgerWith } from '../../proof/ledgers.js';

/** Evidence made by hand: answers of four numbered paragraphs, whose marks tell the exchange and the paragraph. */
export function markOf(exchange: number, number: number): string {
  return `Exchange${exchange}Par${number}`.padEnd(12, 'x').slice(0, 12);
}

const WORDS = 'lumo vana tesi rako.';

/** Some paragraphs of an exchange's answer, as a client shows them. */
export function shown(exchange: number, ...numbers: number[]): string {
  return numbers.map((number) => `[${number}:${markOf(exchange, number)}] ${WORDS}`).join('\n\n');
}

const TOLD = 4;
const ALL = Array.from({ length: TOLD }, (_, n) => n + 1);

/** A whole answer with the paragraphs. */
export function whole(exchange: number, given: Partial<Ledger> = {}): Ledger {
  const marks = ALL.map((number) => markOf(exchange, number));
  return ledgerWith({ exchange, connection: exchange, blocks: { told: TOLD, delivered: TOLD, marks }, ...given });
}

/** The same, cut in the middle by a correct end of HTTP. */
export function cut(exchange: number, given: Partial<Ledger> = {}): Ledger {
  return whole(exchange, {
    cut: { position: 'half', offset: 600, inside: 'after event:6 (content)' },
    terminal: null,
    teardown: { kind: 'eof', first: null },
    ...given,
  });
}

/** A run that ended well and has said nothing. */
export function evidence(given: Partial<RunEvidence> = {}): RunEvidence {
  return {
    fault: 'F2',
    stdout: '',
    stderr: '',
    shown: '',
    structuredError: null,
    exitCode: 0,
    signal: null,
    durationMs: 1000,
    timedOut: false,
    capped: false,
    main: [],
    open: [],
    auxiliary: [],
    foreign: [],
    ...given,
  };
}
