import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { messageOf } from '../errors.js';
import type { Outcome } from '../events.js';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { errorReply } from '../http/reply.js';
import type { RequestHead } from '../http/request.js';
import { headerIn, type ResponseHead, responseScanner } from '../http/response-scanner.js';
import { endingWith, type Playback, type PlayEnd, type PlayHooks, type Playing } from '../net/play.js';
import { play } from '../net/player.js';
import { intentOf } from '../proof/account.js';
import type { CameToBe } from '../proof/exchange-books.js';
import { bodyKindOf } from './answer-scan.js';
import { type Keeping, keeping } from './keeping.js';
import type { KeptInput } from './kept-answer.js';
import { liveFault, settleStep } from './live-fault.js';
import { type Passing, passing } from './passing.js';
import type { Upstream } from './upstream.js';
import { askUpstream, type UpstreamOver, type UpstreamTap } from './upstream-side.js';
import { wholeReason } from './whole-reason.js';

/**
 * Answers a request with what the upstream answers to it, and does to it on the way what the fault says: bytes pass as
 * they come, or are kept until the answer is whole, where the fault needs it whole.
 */
export interface RelayInput extends KeptInput {
  readonly upstream: Upstream;
  /** The request as it goes up. */
  readonly request: Buffer;
  readonly asked: RequestHead;
  /** Whether there will be a ledger. */
  readonly wanted: boolean;
  /** Whether the upstream's bytes are kept. */
  readonly keepsBytes: boolean;
  /** Records the exchange with the upstream. */
  readonly tap?: UpstreamTap | undefined;
  /** Told just before the end of the play. */
  onCame(came: Came): void;
}

export interface Came extends CameToBe {
  /** What the upstream, or the want of a position, makes of the exchange; `undefined`: what was played. */
  readonly outcome: Outcome | undefined;
  /** For people. */
  readonly why: string | undefined;
}

const OUTCOME_OF: Readonly<Record<UpstreamOver['kind'], Outcome>> = {
  refused: 'upstream_refused',
  unreachable: 'upstream_refused',
  tls: 'upstream_tls',
  timeout: 'upstream_timeout',
  reset: 'upstream_reset',
  fin: 'upstream_closed',
};

const NO_BYTES = Buffer.alloc(0);

export function relay(socket: Socket, hooks: PlayHooks, input: RelayInput): Playback {
  const { fault, content, asked, upstream } = input;
  const live = wholeReason(fault) === undefined ? liveFault({ ...input, seed: input.material.seed }) : undefined;
  /** Looks for the head, where it decides what is done. */
  const probe = responseScanner(asked.method, {});
  const decided = live !== undefined && live.needsEvents === undefined && fault.head === undefined && !live.rewrites;
  let soFar: Buffer[] = [];
  let inner: Playing | undefined;
  let pass: Passing | undefined;
  let keep: Keeping | undefined;
  let outcome: Outcome | undefined;
  let why: string | undefined;
  let buffered: string | null = null;
  let clientHasEnded = false;
  let whole = false;
  let over = false;
  const upstreamBytes: Buffer[] | undefined = input.keepsBytes ? [] : undefined;

  const side = askUpstream(upstream, input.request, { onData, onOver }, input.tap);

  function onData(bytes: Buffer): void {
    if (over) return;
    upstreamBytes?.push(bytes);
    if (pass || keep) {
      take(bytes);
      return;
    }
    soFar.push(bytes);
    if (!decided) probe.feed(bytes);
    if (!decided && live && !probe.head() && probe.broken() === undefined) return;
    const first = soFar.length === 1 ? bytes : Buffer.concat(soFar);
    soFar = [];
    decide(probe.head(), first);
    if (!over && (pass || keep)) take(first);
  }

  /** What is done with the answer. The head isn't known where it makes no difference. */
  function decide(head: ResponseHead | undefined, first: Buffer): void {
    if (!live) startKeeping(wholeReason(fault) ?? '');
    else if (live.rewrites && head && (head.framing === 'none' || bodyKindOf(head).kind === 'other'))
      startKeeping('an answer that is no event stream');
    else if (live.needsEvents !== undefined && head && bodyKindOf(head).kind === 'other')
      unlikeEvents(live.needsEvents, head);
    else startPassing(head, first);
  }

  /** An event is looked for where there are none: a JSON body has parts that play their roles. */
  function unlikeEvents(position: string, head: ResponseHead): void {
    const kind = bodyKindOf(head);
    const told = kind.kind === 'other' ? kind.why : '';
    const isJson = /^\s*application\/json\b/i.test(headerIn(head.headers, 'content-type') ?? '');
    if (isJson && head.status < 300 && !told.includes('compressed'))
      startKeeping(`position ${position} of a JSON body`);
    else refuse('cut_unreached', `position ${position}: ${told}; its status is ${head.status}`);
  }

  function startKeeping(reason: string): void {
    buffered = reason;
    keep = keeping(asked.method, input.protocol);
  }

  function startPassing(head: ResponseHead | undefined, first: Buffer): void {
    if (!live) return;
    const started = passing(socket, hooks, {
      ...input,
      live,
      head,
      first,
      onRoom: side.resume,
      onCut: side.drop,
      onEnd: (end, turnedOut) => {
        if (inner === started.playback) finish(end, started.came(turnedOut));
      },
    });
    pass = started;
    inner = started.playback;
    if (clientHasEnded) inner.clientEnded();
  }

  function take(bytes: Buffer): void {
    if (pass) {
      pass.take(bytes);
      if (pass.full()) side.pause();
    }
    keep?.take(bytes);
    const scan = pass?.scan ?? keep?.scan;
    const end = scan?.end();
    const { maxBufferBytes } = upstream.target;
    // However it was split: one that is too long is so when it comes at once, too.
    if (keep && (end ?? side.received()) > maxBufferBytes)
      refuse('cut_unreached', `the answer is over ${maxBufferBytes} bytes, which ${buffered} needs whole`);
    else if (end !== undefined) complete(end);
  }

  /** The answer is whole at `end`. */
  function complete(end: number): void {
    if (whole) return;
    whole = true;
    const head = (pass?.scan ?? keep?.scan)?.head();
    // A client that said close has said it to the upstream, whatever that answers (aimock: keep-alive, then a 400).
    side.done(side.received() === end && head?.keepAlive === true && asked.keepAlive);
    if (pass) {
      pass.finish({ steps: [{ op: 'teardown', kind: 'keep_alive' }], closes: head?.keepAlive !== true });
      return;
    }
    try {
      const plan = keep?.plan(input);
      if (plan) startPlan(plan);
    } catch (thrown) {
      refuse('cut_unreached', messageOf(thrown));
    }
  }

  function onOver(what: UpstreamOver): void {
    if (over || whole) return;
    const scan = pass?.scan ?? keep?.scan;
    if (what.kind === 'fin' && scan?.finish()) {
      complete(side.received());
      return;
    }
    outcome = scan?.broken() === undefined || what.kind !== 'fin' ? OUTCOME_OF[what.kind] : 'upstream_invalid';
    why = what.message;
    // Most servers end an answer whose client has ended its side (node:http: by a RST): it is the client that went.
    if (clientHasEnded && (what.kind === 'fin' || what.kind === 'reset')) {
      outcome = 'client_closed';
      why = `the client had ended its side; then ${what.message}`;
    }
    if (side.received() === 0 && upstream.target.onError === '502') {
      refuse(outcome, `the upstream ${upstream.target.url} failed (${what.kind}): ${what.message}`);
      return;
    }
    mirror(what.kind);
  }

  /** What the upstream did is done to the client, behind all that came of the answer. */
  function mirror(kind: UpstreamOver['kind']): void {
    const kept = keep?.bytes() ?? Buffer.concat(soFar);
    if (!pass && live) startPassing(undefined, NO_BYTES);
    const last: WirePlan['steps'] =
      kind === 'fin'
        ? [{ op: 'teardown', kind: 'fin' }]
        : [...(side.received() > 0 ? [settleStep(content)] : []), { op: 'teardown', kind: 'rst' }];
    if (pass) {
      if (kept.length > 0) pass.take(kept);
      pass.finish({ steps: last, closes: true });
      return;
    }
    // Of an answer that was to be kept whole, what came is sent as it is.
    const steps: WirePlan['steps'] = [
      ...(kept.length > 0 ? [{ op: 'write', start: 0, end: kept.length } as const] : []),
      ...last,
    ];
    startPlan({ bytes: kept, marks: [], steps, closes: true, unapplied: ['all: the answer was not whole'] });
  }

  /** The client is told that there is no such answer, instead of any of it. */
  function refuse(as: Outcome, message: string): void {
    outcome = as;
    why = message;
    side.drop();
    keep = undefined;
    const code = as === 'cut_unreached' ? 'PLAN_IMPOSSIBLE' : 'UPSTREAM_FAILED';
    startPlan(replyPlan(errorReply(502, code, message), asked));
  }

  function startPlan(plan: WirePlan): void {
    pass = undefined;
    const playback = play(
      socket,
      plan,
      endingWith(hooks, (end) => finish({ ...end, played: plan }, planned(plan))),
    );
    inner = playback;
    if (clientHasEnded) playback.clientEnded();
    // Not within what an answer's bytes are being looked at by.
    queueMicrotask(() => playback.begin());
  }

  function planned(plan: WirePlan): Pick<CameToBe, 'plan' | 'intent'> & { readonly sha256: string | null } {
    const bytes = keep?.bytes();
    return { plan, intent: intentOf(plan, false), sha256: bytes ? hash('sha256', bytes, 'hex') : null };
  }

  function finish(
    end: PlayEnd,
    came: ReturnType<typeof planned> & {
      readonly unreached?: string;
      readonly rewritten?: boolean;
      readonly unmarked?: number;
    },
  ): void {
    if (over) return;
    over = true;
    side.drop();
    const { plan, intent, sha256, unreached, rewritten, unmarked = 0 } = came;
    if (unreached !== undefined && outcome === undefined && end.how === 'done') {
      outcome = 'cut_unreached';
      why = unreached;
    }
    const scan = pass?.scan ?? keep?.scan ?? probe;
    const told = side.account();
    input.onCame({
      plan,
      intent,
      outcome,
      why,
      ...(upstreamBytes ? { upstreamBytes } : {}),
      upstream: {
        ...told,
        // What came behind the answer is none of it.
        bytes: Math.min(told.bytes, scan.end() ?? told.bytes),
        error: told.error ?? why ?? null,
        status: scan.head()?.status ?? null,
        sha256,
        buffered,
        rewritten: rewritten ?? (sha256 === null || sha256 !== intent.sha256),
        unmarkedEvents: unmarked,
      },
    });
    hooks.onEnd({ ...end, played: plan });
  }

  /** Before anything is played. */
  function giveUp(how: PlayEnd['how']): void {
    const plan: WirePlan = { bytes: NO_BYTES, marks: [], steps: [], closes: true, unapplied: [] };
    finish({ how, reached: undefined, flushedBytes: 0 }, planned(plan));
  }

  return {
    // The upstream was asked as soon as there was a relay.
    begin: () => {},
    silent: () => inner?.silent() ?? false,
    clientEnded: () => {
      clientHasEnded = true;
      side.halfClose();
      inner?.clientEnded();
    },
    abort: (by) => {
      if (inner) inner.abort(by);
      else giveUp(by === 'client' ? 'client_closed' : 'server_closed');
    },
  };
}
