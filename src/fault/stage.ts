import type { CutTeardown, FaultSpec } from './spec.js';

/**
 * When a fault begins to act, which is when it has to be chosen: a fault of the port before there is a connection, one
 * that reads no request before there is one.
 */
const STAGES = ['accept', 'head', 'request'] as const;
export type Stage = (typeof STAGES)[number];

function stageOf(fault: FaultSpec): Stage {
  if (requestBytesOf(fault) !== undefined) return 'accept';
  const { request } = fault;
  if (!request) return 'request';
  const { read = 'all', continue: interim = 'send' } = request;
  return read === 'head' || interim !== 'send' ? 'head' : 'request';
}

/** Whether a fault acts at `stage`, or should have before. */
export function isDue(fault: FaultSpec, stage: Stage): boolean {
  return STAGES.indexOf(stageOf(fault)) <= STAGES.indexOf(stage);
}

/** Whether a fault is played on a connection, and isn't one of the port. */
export function isPlayed({ listen }: FaultSpec): boolean {
  return listen === undefined;
}

/** How many bytes of the request a fault reads before it acts; `undefined`: it looks at the request. */
export function requestBytesOf({ cut }: FaultSpec): number | undefined {
  if (cut?.at === undefined) return undefined;
  if (cut.at === 'accept') return 0;
  // Each request asks a few times, and a pattern that is tried makes objects.
  if (!cut.at.startsWith('request:')) return undefined;
  const bytes = /^request:(\d+)$/.exec(cut.at)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Whether a part of the request may stay unread. */
export function leavesUnread(fault: FaultSpec): boolean {
  return fault.request?.read === 'head' || requestBytesOf(fault) !== undefined;
}

/** What has to be known before it is sure that a fault has reached the client. */
export type NeededEvidence = 'refused connects' | 'none' | 'acked' | 'read';

const EVIDENCE: Readonly<Record<CutTeardown, NeededEvidence>> = {
  rst: 'read',
  rst_now: 'none',
  fin: 'read',
  half_close: 'read',
  eof: 'acked',
  stall: 'acked',
};

/**
 * The level that proves that the client got what comes before the fault: a reset and a FIN end what could still be read,
 * so it has to be read; silence and whole answers only have to have arrived; without a byte there is nothing to prove.
 */
export function neededEvidence(fault: FaultSpec): NeededEvidence {
  if (!isPlayed(fault)) return 'refused connects';
  const { cut } = fault;
  if (!cut) return 'acked';
  return cut.at === 'request' || requestBytesOf(fault) !== undefined ? 'none' : EVIDENCE[cut.teardown];
}
