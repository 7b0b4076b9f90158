import type { Socket } from 'node:net';

/**
 * Who hears what a socket tells. One function for each event serves all sockets, which know their listeners: closures
 * for each would be a good part of what 10,000 connections cost.
 */
export interface SocketListener {
  data(bytes: Buffer): void;
  /** The client's FIN has come. */
  clientEnd(): void;
  /** The error says no more than the close that follows it. */
  failed(): void;
  closed(): void;
}

const LISTENER = Symbol('listener');

interface Heard extends Socket {
  readonly [LISTENER]: SocketListener;
}

/** Once for a socket. */
export function listenTo(socket: Socket, listener: SocketListener): void {
  const heard: Heard = Object.assign(socket, { [LISTENER]: listener });
  heard.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
}

function onData(this: Heard, bytes: Buffer): void {
  this[LISTENER].data(bytes);
}

function onEnd(this: Heard): void {
  this[LISTENER].clientEnd();
}

function onError(this: Heard): void {
  this[LISTENER].failed();
}

function onClose(this: Heard): void {
  this[LISTENER].closed();
}
