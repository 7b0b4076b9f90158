import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, onTestFinished, vi } from 'vitest';
import type { FaultServer, FaultServerOptions } from '../../../src/index.js';
import type { Served } from '../../support/server.js';

/** What the clients' tests have in common: the words of the answers, and clients that point at a server. */
export const TEXT = 'mock response recovered';
export const PARTIAL = 'discarded partial response';
export const REASONING = 'mock reasoning';
export const REFUSAL = "I'm sorry, but I can't help with that.";
export const KEY = 'sk-mock';
export const PROMPT = 'hello';

/** Short pauses, but for the one before a reset: Node clients need it to see the RST as one. */
export const QUICK = {
  chunkDelayMs: 1,
  disconnectDelayMs: 20,
  keepaliveMs: 1,
  retryAfterMs: 37,
} as const satisfies FaultServerOptions;

export interface Call {
  readonly name: string;
  readonly arguments: string;
}

export const CALL: Call = { name: 'mock_tool', arguments: '{"value":"mock"}' };
export const HALF_CALL: Call = { name: 'mock_tool', arguments: '{"value"' };

/** An answer as a client told it, in no API's words. */
export interface Told {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly Call[];
  readonly finish: string | null;
}

export const SILENT: Omit<Told, 'finish'> = { text: '', reasoning: '', refusal: '', calls: [] };

interface ClientOptions {
  readonly apiKey?: string;
  readonly maxRetries?: number;
}

/** Clients don't retry unless a test says so, and keep quiet about what they can't parse. */
export function openaiClient(server: FaultServer, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ apiKey: KEY, maxRetries: 0, logLevel: 'off', ...options, baseURL: `${server.baseURL}/v1` });
}

export function anthropicClient(server: FaultServer, options: ClientOptions = {}): Anthropic {
  return new Anthropic({ apiKey: KEY, maxRetries: 0, logLevel: 'off', ...options, baseURL: server.baseURL });
}

/** What a promise rejects with; that it resolves is an error here. */
export async function thrownBy(promise: PromiseLike<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
}

/** How reading a stream ended: `undefined` for a normal end. What came before is given to `take`. */
export async function endOf<T>(stream: PromiseLike<AsyncIterable<T>>, take: (item: T) => void): Promise<unknown> {
  try {
    for await (const item of await stream) take(item);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** All items of a stream. */
export async function all<T>(stream: PromiseLike<AsyncIterable<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of await stream) items.push(item);
  return items;
}

/** The codes along a chain of causes. */
export function causesOf(thrown: unknown): unknown[] {
  const codes: unknown[] = [];
  for (let at = thrown; at instanceof Error; at = at.cause) if ('code' in at && at.code) codes.push(at.code);
  return codes;
}

/** The delays of the timers that this test starts from now on. They pass as ever. */
export function timers(): () => readonly unknown[] {
  const spy = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => spy.mockRestore());
  return () => spy.mock.calls.map(([, ms]) => ms);
}

/** That the one exchange of a test ended as a reset, or as a completed answer. */
export async function expectOutcome(server: Served, outcome: 'completed' | 'reset'): Promise<void> {
  expect(await server.results(1)).toMatchObject([{ outcome }]);
}
