import { constants, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { addExplainCommand } from '../src/commands/explain.js';
import { CONCRETE_BEHAVIOR_NAMES, faultOf } from '../src/fault/catalogue.js';
import { PROTOCOLS, type Protocol } from '../src/sse/dialect.js';
import { runCommand } from './support/command.js';
import { readAnswer } from './support/http.js';
import { serve } from './support/server.js';
import { post, witness } from './support/witness.js';

const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};

/** Times are what differs between now and the fixed moment of explain. All of them have a fixed width. */
function timeless(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, 'DATE')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replaceAll(/"(created|created_at|completed_at)":( ?)\d{10}/g, '"$1":$2SECONDS');
}

const explain = (...args: string[]) => runCommand(addExplainCommand, ['explain', ...args]);

/** What can be read of a compressed body, whose bytes say the time in their own way. */
function inflated(bytes: Buffer): string {
  const body = readAnswer(bytes)?.body ?? Buffer.alloc(0);
  return timeless(gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH }));
}

describe.each(PROTOCOLS)("the server's bytes are those of explain: %s", (protocol) => {
  for (const stream of [true, false]) {
    it.each(CONCRETE_BEHAVIOR_NAMES)(`%s, stream ${stream}`, async (behavior) => {
      const { cut, encoding } = faultOf(behavior);
      const args = ['--protocol', protocol, '--format', 'json', ...(stream ? [] : ['--no-stream'])];
      const { code, out } = await explain(behavior, ...args);
      expect(code).toBe(0);
      const plan: { base64: string; steps: { end?: number }[] } = JSON.parse(out);
      const end = Math.max(0, ...plan.steps.map((step) => step.end ?? 0));
      const planned = Buffer.from(plan.base64, 'base64').subarray(0, end);
      const server = await serve({
        sequence: [behavior, 'random'],
        randomSeed: 42,
        chunkDelayMs: 0,
        disconnectDelayMs: 0,
        keepaliveMs: 1,
        // Throttled answers needn't take their time.
        timeScale: 1000,
      });
      const client = witness(server.port);
      // Long enough for a fault that acts after so many bytes of the request.
      client.send(post(PATHS[protocol], { stream }, { 'x-padding': 'x'.repeat(100) }));
      if (encoding !== undefined && encoding !== 'gzip_lie') {
        await client.until((bytes) => readAnswer(bytes)?.complete === true);
        const [shorter = '', longer = ''] = [planned, client.received]
          .map(inflated)
          .toSorted((x, y) => x.length - y.length);
        // A time that is cut off is not told from other digits.
        expect(longer.startsWith(shorter.slice(0, -40))).toBe(true);
        expect(shorter.length).toBeGreaterThan(100);
      } else {
        if (end > 0) await client.until((bytes) => bytes.length >= end);
        else if (cut?.teardown === 'stall') await server.event(({ type }) => type === 'request');
        else await client.ended;
        expect(timeless(client.received.subarray(0, end))).toBe(timeless(planned));
      }
      client.close();
      await server.close();
    });
  }
});

describe('explain', () => {
  it('shows the cut in the middle of what it cuts, and the time line', async () => {
    const { code, out } = await explain('rst@event:2+17', '--fidelity', 'plain', '--disconnect-delay-ms', '7');
    expect(code).toBe(0);
    expect(out).toMatch(/rst@event:2\+17, openai-chat, streamed: \d+ bytes, SHA-256 [0-9a-f]{64}\n/);
    const lines = out.split('\n');
    const at = lines.findIndex((line) => line.includes('✂'));
    expect(lines[at - 1]).toMatch(/event:3 content +data: \{"id":"chat$/);
    expect(lines[at]).toMatch(/✂ event:2\+17 = byte \d+; what is below is not sent$/);
    expect(lines[at + 1]).toMatch(/event:3 content +cmpl-/);
    expect(out).toMatch(/settle until the client has read it all, 2000 ms at most\n +\d ms {2}rst\n/);
  });

  it('says the same each time, and in hex with the marks beside the bytes', async () => {
    const runs = await Promise.all([explain('success', '--format', 'hex'), explain('success', '--format', 'hex')]);
    expect(runs[0]).toEqual(runs[1]);
    expect(runs[0]?.out).toMatch(
      /^000000 {2}48 54 54 50 2f 31 2e 31 20 32 30 30 20 4f 4b 0d {2}HTTP\/1\.1 200 OK\. {2}status_line$/m,
    );
  });

  for (const [args, says] of [
    [['succes'], /unknown behavior "succes", did you mean "success"/],
    [['rst@evnt:3'], /unknown position "evnt:3", did you mean "event:N"/],
    [['success@event:1'], /success has no cut that could be moved/],
    [['rts@event:1'], /unknown teardown or behavior "rts", did you mean "rst"/],
    [['random'], /no answer of its own/],
    [['success', '--protocol', 'openai'], /--protocol: unknown word "openai"/],
    [['rst@event:99'], /position event:99: the answer doesn't reach it; it has \d+ bytes and the events role, content/],
  ] as const) {
    it(`${args.join(' ')} is refused in one line`, async () => {
      const { code, out, err } = await explain(...args);
      expect(err).toMatch(says);
      expect({ out, failed: code !== 0, lines: err.trimEnd().split('\n').length }).toEqual({
        out: '',
        failed: true,
        lines: 1,
      });
    });
  }
});
