/**
 * What may be known at once, or only later because somebody else has to be asked. What is known at once is never put
 * off to another turn of the event loop: the path without anybody to ask stays synchronous.
 */
export type Later<T> = T | Promise<T>;

export function after<T, R>(value: Later<T>, then: (value: T) => Later<R>): Later<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}
