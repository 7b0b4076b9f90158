import { onTestFinished } from 'vitest';
import { type FaultServer, type FaultServerOptions, type ServerEvent, startFaultServer } from '../../src/index.js';

export interface Served extends FaultServer {
  readonly events: readonly ServerEvent[];
  /** Resolves with the first event, past or coming, for which `wanted` holds. */
  event(wanted: (event: ServerEvent) => boolean): Promise<ServerEvent>;
  /** Resolves when `count` exchanges have ended. */
  results(count: number): Promise<(ServerEvent & { type: 'result' })[]>;
}

/** A server for one test, closed at its end. */
export async function serve(options: FaultServerOptions = {}): Promise<Served> {
  const events: ServerEvent[] = [];
  const watchers = new Set<() => void>();
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const watcher = (): void => {
        const found = look();
        if (found === undefined) return;
        watchers.delete(watcher);
        resolve(found);
      };
      watchers.add(watcher);
      watcher();
    });
  const server = await startFaultServer({
    ...options,
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
      for (const watcher of watchers) watcher();
    },
  });
  onTestFinished(() => server.close());
  return Object.assign(server, {
    events,
    event: (wanted: (event: ServerEvent) => boolean) => until(() => events.find(wanted)),
    results: (count: number) =>
      until(() => {
        const results = events.filter((event) => event.type === 'result');
        return results.length >= count ? results : undefined;
      }),
  });
}
