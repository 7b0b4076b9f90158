import { it } from 'vitest';
import { answersOf } from '../../../src/answers.js';
import { answerScan } from '../../../src/proxy/answer-scan.js';
import { markKeeper } from '../../../src/proxy/mark-keeper.js';
import { rewriting } from '../../../src/proxy/rewriting.js';
import { resolveOptions } from '../../../src/resolve-options.js';
import { chunkedAnswer } from '../support/upstream.js';
it('speed', () => {
  const OPTIONS = resolveOptions({ sequence: ['success'] }, (n) => n);
  const sel = (fault: object) => ({ kind: 'behavior', lane: 'd', attempt: 1, scripted: 'x', behavior: 'x', fault, source: 'script', windows: [] }) as never;
  const body = Buffer.from(`data: {"id":"x","choices":[{"delta":{"content":"hello world"}}]}\n\n`.repeat(50_000));
  const answer = chunkedAnswer(body, 4000);
  for (let round = 0; round < 4; round++)
  for (const [name, fault] of Object.entries({ none: undefined, crlf: { sse: { eol: 'crlf' } }, omit: { events: [{ op: 'omit', where: { role: 'finish' } }] }, eof: { cut: { at: 'terminator', teardown: 'eof' } } })) {
    const marks = markKeeper({ maxEvents: 20000 });
    let start = performance.now();
    if (!fault) {
      const scan = answerScan('POST', 'openai-chat', marks);
      for (let at = 0; at < answer.length; at += 65536) scan.feed(answer.subarray(at, at + 65536));
    } else {
      const probe = answerScan('POST', 'openai-chat', {});
      probe.feed(answer.subarray(0, 1000));
      const input = { fault, protocol: 'openai-chat', content: OPTIONS, material: answersOf(OPTIONS).material(sel(fault), 'openai-chat', { stream: true }), keepAlive: true, chunkedAllowed: true } as never;
      const anew = rewriting((typeof probe.head === 'function' ? (probe.head as () => never)() : probe.head) as never, input, marks);
      const scan = answerScan('POST', 'openai-chat', anew.signals, anew.long);
      start = performance.now();
      for (let at = 0; at < answer.length; at += 65536) { scan.feed(answer.subarray(at, at + 65536)); anew.written(); }
    }
    if (round === 3) console.log(name, ((performance.now() - start) * 1000 / 50_000).toFixed(2), 'us/event');
  }
}, 60000);
