import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { loadScenario } from '../../src/scenario/load.js';
import { type Served, serve } from '../support/server.js';
import { chatReader, responsesReader } from './support/openai-told.js';
import { endOf, KEY, PROMPT, QUICK, TEXT } from './support/sdk.js';

/**
 * The scenario cut_then_reconcile and the openai SDK, which sends an idempotency key with each POST once it is told
 * the header's name, and the same one when it retries.
 */
const SCENARIO = fileURLToPath(new URL('../../scenarios/cut-then-reconcile.yaml', import.meta.url));

class IdempotentClient extends OpenAI {
  protected override idempotencyHeader = 'Idempotency-Key';
}

function clientOf(server: Served, maxRetries = 0): OpenAI {
  return new IdempotentClient({ apiKey: KEY, maxRetries, logLevel: 'off', baseURL: `${server.baseURL}/v1` });
}

/** What an agent does: it asks with the key of its step until the answer is whole, and only then does the step. */
async function untilWhole<T>(
  ask: (idempotencyKey: string) => Promise<{ readonly end: unknown; readonly told: T }>,
  idempotencyKey: string,
): Promise<{ readonly cuts: T[]; readonly told: T }> {
  const cuts: T[] = [];
  for (;;) {
    const { end, told } = await ask(idempotencyKey);
    if (end === undefined) return { cuts, told };
    cuts.push(told);
  }
}

async function keysOf(server: Served): Promise<unknown[]> {
  await server.idle();
  return server.ledgers.map(({ key, outcome }) => [key?.value, key?.nth, key?.delivered, outcome]);
}

describe('an agent with the openai SDK', () => {
  it('chat: gets the answer that it was cut off from, with the id that it had begun to see', async () => {
    const server = await serve({ ...QUICK, ...(await loadScenario(SCENARIO)) });
    const client = clientOf(server);
    const { cuts, told } = await untilWhole(async (idempotencyKey) => {
      const reader = chatReader();
      const ids = new Set<string>();
      const created = new Set<number>();
      const messages = [{ role: 'user' as const, content: PROMPT }];
      const stream = client.chat.completions.create({ model: 'm', stream: true, messages }, { idempotencyKey });
      const end = await endOf(stream, (chunk) => {
        ids.add(chunk.id);
        created.add(chunk.created);
        reader.take(chunk);
      });
      return { end, told: { ...reader.told(), ids: [...ids], created: [...created] } };
    }, 'step-1');
    expect(cuts).toHaveLength(1);
    expect(told).toMatchObject({ text: TEXT, finish: 'stop' });
    expect(told.ids).toHaveLength(1);
    expect(cuts[0]?.text).not.toBe('');
    expect(TEXT.startsWith(cuts[0]?.text ?? '-')).toBe(true);
    expect([cuts[0]?.ids, cuts[0]?.created]).toEqual([told.ids, told.created]);
    expect(await keysOf(server)).toEqual([
      ['step-1', 1, 0, 'reset'],
      ['step-1', 2, 1, 'completed'],
    ]);
  });

  it('responses: several steps, each with a key of its own, each done once', async () => {
    const server = await serve({ ...QUICK, ...(await loadScenario(SCENARIO)) });
    const client = clientOf(server);
    const steps = ['step-a', 'step-b', 'step-c'];
    const seen = await Promise.all(
      steps.map((step) =>
        untilWhole(async (idempotencyKey) => {
          const reader = responsesReader();
          let id = '';
          const stream = client.responses.create({ model: 'm', stream: true, input: PROMPT }, { idempotencyKey });
          const end = await endOf(stream, (event) => {
            if (event.type === 'response.created') id = event.response.id;
            reader.take(event);
          });
          return { end, told: { ...reader.told(), id } };
        }, step),
      ),
    );
    for (const { cuts, told } of seen) {
      expect(told).toMatchObject({ text: TEXT, finish: 'completed' });
      expect(cuts.map(({ id }) => id)).toEqual([told.id]);
    }
    expect(new Set(seen.map(({ told }) => told.id)).size).toBe(steps.length);
    const keys = await keysOf(server);
    expect(keys.map(String).toSorted()).toEqual(
      steps.flatMap((step) => [`${step},1,0,reset`, `${step},2,1,completed`]).toSorted(),
    );
  });

  it("its own retries have the key that it drew, where the cut comes before an answer's head", async () => {
    const scenario = await loadScenario(SCENARIO);
    const rules = scenario.rules?.map((rule) => ({ ...rule, fault: 'rst@status_line:9' }));
    const server = await serve({ ...QUICK, ...scenario, ...(rules ? { rules } : {}) });
    const completion = await clientOf(server, 2).chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: PROMPT }],
    });
    expect(completion.choices[0]?.message.content).toBe(TEXT);
    const keys = await keysOf(server);
    const drawn = server.ledgers[0]?.key?.value;
    expect(drawn).toMatch(/^stainless-node-retry-/);
    expect(keys).toEqual([
      [drawn, 1, 0, 'reset'],
      [drawn, 2, 1, 'completed'],
    ]);
  });
});
