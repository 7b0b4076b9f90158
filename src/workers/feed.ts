import { EventEmitter, on } from 'node:events';

/** What is told to whoever follows, from the moment from which they do. */
export interface Feed<T> {
  tell(value: T): void;
  readonly followers: number;
  /** `ended` is called when the follower has enough. */
  follow<R>(map: (value: T) => R, ended?: () => void): AsyncIterableIterator<R>;
  /** Nothing comes any more. */
  end(): void;
}

export function feed<T>(): Feed<T> {
  const emitter = new EventEmitter().setMaxListeners(0);
  return {
    tell: (value) => {
      emitter.emit('value', value);
    },
    get followers() {
      return emitter.listenerCount('value');
    },
    follow: (map, ended) => {
      const values = on(emitter, 'value', { close: ['end'] }) as AsyncIterableIterator<[T]>;
      let over = false;
      return {
        next: async () => {
          const { value, done } = await values.next();
          return done ? { value: undefined, done: true } : { value: map(value[0]), done: false };
        },
        return: async () => {
          if (!over) ended?.();
          over = true;
          await values.return?.();
          return { value: undefined, done: true };
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    end: () => {
      emitter.emit('end');
    },
  };
}
