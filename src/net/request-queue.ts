import type { BadRequest, Request } from '../http/request.js';
import type { Job } from './job.js';

/** What waits for its turn on a connection, in the order of the requests (RFC 9112, section 9.3.2). */
export type Queued =
  | { readonly kind: 'request'; readonly request: Request }
  /** Answered with its body unread. */
  | { readonly kind: 'unread'; readonly job: Job }
  | { readonly kind: 'bad'; readonly bad: BadRequest };

/** Never changed: an array that is pushed to takes room for 17, and of 10,000 connections mostly none has one waiting. */
export type RequestQueue = readonly Queued[];

/** Requests that are read ahead of their turn; beyond that the client has to wait. */
const MAX_QUEUED = 16;

export const NOBODY: RequestQueue = [];

export function withLast(queue: RequestQueue, item: Queued): RequestQueue {
  return [...queue, item];
}

export function withoutFirst(queue: RequestQueue): RequestQueue {
  return queue.length > 1 ? queue.slice(1) : NOBODY;
}

export function isFull(queue: RequestQueue): boolean {
  return queue.length >= MAX_QUEUED;
}
