// A client of known patience on a raw socket. It writes down, by its own clock, how long it waited each time.
import { appendFileSync } from 'node:fs';
import net from 'node:net';

const [, , baseURL, log, options] = process.argv;
const { idleMs, rearmedBy = 'bytes', totalMs, close = 'fin', retriesMs = [] } = JSON.parse(options);
const { hostname: host, port } = new URL(baseURL);
const body = JSON.stringify({ model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: 'hello' }] });
const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
let attempts = 0;

function ask() {
  const attempt = attempts++;
  const socket = net.connect({ host, port: Number(port) });
  let sinceMs = performance.now();
  let timer;
  const total = totalMs === undefined ? undefined : setTimeout(() => giveUp('total', sinceAskedMs), totalMs);
  let sinceAskedMs = sinceMs;

  function arm() {
    sinceMs = performance.now();
    clearTimeout(timer);
    if (idleMs !== undefined) timer = setTimeout(() => giveUp('idle', sinceMs), idleMs);
  }

  function giveUp(why, fromMs) {
    stop();
    appendFileSync(log, `${JSON.stringify({ attempt, why, waitedMs: performance.now() - fromMs })}\n`);
    if (close === 'rst') socket.resetAndDestroy();
    else socket.destroy();
    again();
  }

  function stop() {
    clearTimeout(timer);
    clearTimeout(total);
  }

  function again() {
    const pauseMs = retriesMs[attempt];
    const sinceMs = performance.now();
    if (pauseMs === undefined) return;
    setTimeout(() => {
      appendFileSync(log, `${JSON.stringify({ attempt, why: 'pause', waitedMs: performance.now() - sinceMs })}\n`);
      ask();
    }, pauseMs);
  }

  socket.on('connect', () => {
    socket.write(request);
    sinceAskedMs = performance.now();
    arm();
  });
  socket.on('data', (bytes) => {
    const text = bytes.toString('latin1');
    if (text.includes('[DONE]')) {
      stop();
      socket.destroy();
      return;
    }
    if (rearmedBy === 'bytes' || text.includes('data: {')) arm();
  });
  socket.on('error', () => {
    stop();
    again();
  });
  socket.on('end', () => {
    stop();
    socket.destroy();
  });
}

ask();
