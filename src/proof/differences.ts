import { createHash } from 'node:crypto';
import { insideOf, lostOf } from './account.js';
import { marksIn } from './answer-marks.js';
import type { Ledger } from './ledger.js';
import type { Sighting } from './sighting.js';

/** In what an exchange was another one than its ledger tells. Pure. */
export interface Difference {
  /** `ledger`: it contradicts itself. */
  readonly about: 'ledger' | 'bytes' | 'length' | 'teardown' | 'upstream';
  /** One line. */
  readonly message: string;
  /** In the answer; `null` where it is about none. */
  readonly offset: number | null;
  /** What stands there. */
  readonly mark: string | null;
}

export interface Parted {
  /** In the answer. */
  readonly offset: number;
  readonly mark: string;
}

/** One exchange as it was seen: its own part of the connection. */
export interface Seen {
  readonly ledger: Ledger;
  readonly sighting: Sighting;
  /** The bytes whose content is known. */
  readonly bytes: Buffer;
  /** As many as were seen, with those whose content isn't known. */
  readonly length: number;
  /** Acknowledged by the client; `null` where that isn't seen. */
  readonly acked: number | null;
  /** Nothing of the journal follows on the connection. */
  readonly last: boolean;
  readonly answer: Buffer | undefined;
}

/** Worst first; `upstream`: the stored bytes of a proxy's upstream. */
export function differencesOf(seen: Seen, upstream: Buffer | undefined): readonly Difference[] {
  return [
    ...contradictions(seen.ledger),
    ...upstreamDifferences(seen, upstream),
    ...contentDifferences(seen),
    ...lengthDifferences(seen),
    ...teardownDifferences(seen),
  ];
}

/** What the ledger says can't be so, whatever was seen. */
function contradictions({ bytes, stale, lost, plan, cut, outcome }: Ledger): Difference[] {
  const { written, flushed, acked, read } = bytes;
  const differences: Difference[] = [];
  const say = (wrong: boolean, message: string): void => {
    if (wrong) differences.push({ about: 'ledger', message: `the ledger says ${message}`, offset: null, mark: null });
  };
  say(flushed > written, `${flushed} bytes flushed of ${written} written`);
  say(acked !== null && acked > flushed, `${acked} bytes acked of ${flushed} flushed`);
  say(read !== null && read > flushed, `${read} bytes read of ${flushed} flushed`);
  say(lost !== lostOf({ bytes, stale }), `${lost} bytes lost of ${written} written, ${acked} acked and ${read} read`);
  if (plan.writtenSha256 === null) return differences;
  const intended = cut?.offset ?? plan.bytes;
  say(written > plan.bytes, `${written} bytes written of a plan of ${plan.bytes}`);
  say(
    written === plan.bytes && plan.writtenSha256 !== plan.sha256,
    'all of the plan was written, with another SHA-256 than that of the plan',
  );
  say(
    (outcome === 'completed' || outcome === 'reset') && written !== intended,
    `${outcome} with ${written} bytes written where ${intended} were to be`,
  );
  return differences;
}

export function comparison({ bytes, length, ledger, answer }: Seen): 'bytes' | 'sha256' | 'length' {
  const count = Math.min(length, ledger.bytes.flushed);
  if (bytes.length < count) return 'length';
  if (answer) return 'bytes';
  return count === ledger.bytes.written && ledger.plan.writtenSha256 !== null ? 'sha256' : 'length';
}

function contentDifferences(seen: Seen): Difference[] {
  const { bytes, ledger, answer, sighting } = seen;
  const { written, flushed } = ledger.bytes;
  const { writtenSha256 } = ledger.plan;
  if (answer && answer.length !== flushed) {
    const message = `the stored answer has ${answer.length} bytes, the ledger says ${flushed} flushed`;
    return [difference(seen, 'bytes', Math.min(answer.length, flushed), message)];
  }
  const own = bytes.subarray(0, flushed);
  const at = answer && firstDifference(own, answer);
  if (at !== undefined) {
    const message = `the ${sighting.kind} has ${hex(own[at])}, the answer ${hex(answer?.[at])}`;
    return [difference(seen, 'bytes', at, message)];
  }
  if (answer && answer.length === written && writtenSha256 !== null && sha256(answer) !== writtenSha256) {
    return [difference(seen, 'bytes', null, 'the stored answer is not what the plan has (SHA-256)')];
  }
  if (!answer && own.length === written && writtenSha256 !== null && sha256(own) !== writtenSha256) {
    const message = `the ${written} bytes are not the plan's (SHA-256); --capture tells where they differ`;
    return [difference(seen, 'bytes', null, message)];
  }
  return [];
}

/** Where the client was sent something else than what the upstream had sent; `null`: as far as it goes, nowhere. */
export function partedAt(answer: Buffer, upstream: Buffer): Parted | null {
  const offset = firstDifference(answer, upstream) ?? (answer.length > upstream.length ? upstream.length : undefined);
  return offset === undefined ? null : { offset, mark: insideOf({ bytes: answer, marks: marksIn(answer) }, offset) };
}

/** What a proxy says of its upstream has to be so, and what it passed on as it came is what came. */
function upstreamDifferences(seen: Seen, stored: Buffer | undefined): Difference[] {
  const { upstream, plan } = seen.ledger;
  if (!upstream) return [];
  const { rewritten, sha256: hash } = upstream;
  if (!rewritten && hash !== null && (hash !== plan.sha256 || upstream.bytes !== plan.bytes)) {
    const message = `the ledger says that the upstream's ${upstream.bytes} bytes were passed on, but plans ${plan.bytes} others`;
    return [difference(seen, 'upstream', null, message)];
  }
  if (!stored) return [];
  const came = stored.subarray(0, upstream.bytes);
  if (hash !== null && sha256(came) !== hash) {
    return [
      difference(seen, 'upstream', null, 'the stored bytes of the upstream are not those of the ledger (SHA-256)'),
    ];
  }
  const parted = seen.answer && !rewritten ? partedAt(seen.answer, came) : null;
  if (!parted) return [];
  const message = 'the client was sent another byte than the upstream, though the ledger says that none was changed';
  return [difference(seen, 'upstream', parted.offset, message)];
}

function firstDifference(a: Buffer, b: Buffer): number | undefined {
  const length = Math.min(a.length, b.length);
  if (a.subarray(0, length).equals(b.subarray(0, length))) return undefined;
  return a.findIndex((byte, n) => byte !== b[n]);
}

const hex = (byte: number | undefined): string => `0x${(byte ?? 0).toString(16).padStart(2, '0')}`;

function lengthDifferences(seen: Seen): Difference[] {
  const { ledger, sighting, bytes, length, acked } = seen;
  const { flushed } = ledger.bytes;
  if (length > flushed && !isAnotherAnswer(bytes.subarray(flushed), ledger)) {
    const message = `the ${sighting.kind} has ${length} bytes, ${length - flushed} more than were flushed`;
    return [difference(seen, 'length', flushed, message)];
  }
  const least = leastSeen(seen);
  if (least && length < least.bytes) {
    const message = `the ${sighting.kind} has ${length} bytes, fewer than the ${least.bytes} that the ledger calls ${least.level}`;
    return [difference(seen, 'length', length, message)];
  }
  // Bytes that the client's program has read are acknowledged soon, but perhaps not before a reset.
  if (acked !== null && acked < (ledger.bytes.acked ?? 0) && (ledger.bytes.acked ?? 0) > (ledger.bytes.read ?? 0)) {
    const message = `the client acknowledged ${acked} bytes on the wire, fewer than the ${ledger.bytes.acked} that the ledger calls acked`;
    return [difference(seen, 'length', acked, message)];
  }
  return [];
}

/** The server answers some requests without a ledger (a list of models, what isn't HTTP), once an answer is complete. */
function isAnotherAnswer(excess: Buffer, { teardown }: Ledger): boolean {
  return leavesOpen(teardown.kind) && excess.toString('latin1', 0, 7) === 'HTTP/1.';
}

const leavesOpen = (kind: string): boolean => kind === 'keep_alive' || kind === 'eof';

/** A reset that doesn't settle is the same on the wire. */
export const isReset = (kind: string): boolean => kind === 'rst' || kind === 'rst_now';

/** What has to have been seen, and at which level the ledger has it. */
function leastSeen({ ledger, sighting, last }: Seen): { readonly bytes: number; readonly level: string } | undefined {
  const { flushed, acked, read } = ledger.bytes;
  // A FIN comes behind all that the kernel took, on the wire as for who reads it.
  if (sighting.end.serverFinAt !== null && last) return { bytes: flushed, level: 'flushed' };
  if (sighting.kind === 'capture') return { bytes: Math.max(acked ?? 0, read ?? 0), level: 'acked or read' };
  if (read !== null) return { bytes: read, level: 'read' };
  // What its kernel had acknowledged, a witness that went away may not have read.
  return acked === null || !sighting.end.serverRst ? undefined : { bytes: acked, level: 'acked' };
}

function teardownDifferences(seen: Seen): Difference[] {
  const { ledger, sighting, last, length } = seen;
  const { kind, first } = ledger.teardown;
  const { end } = sighting;
  const open = leavesOpen(kind);
  const differ = (message: string): Difference[] => [
    difference(seen, 'teardown', Math.min(length, ledger.bytes.flushed), message),
  ];
  if (!last) return open ? [] : differ(`the ledger says ${kind}, but the connection went on`);
  if (end.unknown) return [];
  const clientReset = end.clientRst === true;
  const resets = isReset(kind);
  if (resets && end.serverFinAt !== null) return differ(`the ledger says ${kind}, but the server sent a FIN`);
  if (resets && !end.serverRst && !clientReset) return differ(`the ledger says ${kind}, but the server sent no RST`);
  if (!resets && end.serverRst && end.serverFinAt === null && !clientReset) {
    return differ(`the ledger says ${kind}, but the server sent a RST`);
  }
  if ((kind === 'fin' || kind === 'half_close') && end.serverFinAt === null && !clientReset) {
    return differ(`the ledger says ${kind}, but the server sent no FIN`);
  }
  // Two FINs behind a whole answer may cross, and nothing depends on which was first.
  if (open && !end.serverRst && !clientReset) return [];
  const seenFirst = `on the wire ${end.first === null ? 'nobody was' : `the ${end.first} was`}`;
  switch (first) {
    case null:
      return [];
    case 'server': {
      // A client that has shut its sending side still reads: then it is the reset that ends the connection.
      const halfClosed = resets && end.first === 'client' && !clientReset;
      return end.first === 'server' || halfClosed ? [] : differ(`the ledger says the server was first, ${seenFirst}`);
    }
    case 'client_fin':
    case 'client_rst': {
      if (end.first !== 'client') return differ(`the ledger says ${first} was first, ${seenFirst}`);
      const flag = first === 'client_fin' ? end.clientFin : end.clientRst;
      return flag === false ? differ(`the ledger says ${first}, but the client sent none`) : [];
    }
    default:
      return first satisfies never;
  }
}

function difference(seen: Seen, about: Difference['about'], offset: number | null, message: string): Difference {
  const bytes = seen.answer ?? seen.bytes;
  const mark = offset === null ? null : insideOf({ bytes, marks: marksIn(bytes) }, offset);
  return { about, message, offset, mark };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
