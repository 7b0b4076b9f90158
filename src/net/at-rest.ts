import type { Step } from '../fault/wire-plan.js';
import type { Playback, PlayEnd, PlayHooks } from './play.js';

/** What a play comes to rest in. */
export type Teardown = Step & { readonly op: 'teardown' };

/** A play that has come to rest, of which nothing is left but its end: 48 bytes instead of a player of 160. */
export class AtRest implements Playback {
  private hooks: PlayHooks | undefined;
  private readonly reached: Teardown;
  private readonly flushedBytes: number;

  constructor(hooks: PlayHooks, reached: Teardown, flushedBytes: number) {
    this.hooks = hooks;
    this.reached = reached;
    this.flushedBytes = flushedBytes;
  }

  /** It began long ago. */
  begin(): void {}

  silent(): boolean {
    return true;
  }

  clientEnded(): void {
    this.end(this.reached.kind === 'stall' ? 'client_closed' : 'done');
  }

  abort(by: 'client' | 'server'): void {
    this.end(by === 'client' ? 'client_closed' : 'server_closed');
  }

  private end(how: PlayEnd['how']): void {
    const { hooks, reached, flushedBytes } = this;
    this.hooks = undefined;
    hooks?.onEnd({ how, reached, flushedBytes });
  }
}
