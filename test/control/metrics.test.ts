import { describe, expect, it } from 'vitest';
import { type Gauges, metricsOf } from '../../src/control/metrics.js';
import type { ServerEvent } from '../../src/events.js';
import { exchangeListener } from '../../src/server-parts.js';
import { readMetrics, seriesValue } from '../support/prometheus.js';

const NOW: Gauges = { openConnections: 0, rules: 0, waitingAtGates: 0, droppedRequests: 0, droppedLanes: 0 };

const result = (behavior: string, outcome: 'completed' | 'reset'): ServerEvent => ({
  type: 'result',
  attempt: 1,
  scriptBehavior: behavior,
  behavior,
  path: '/',
  outcome,
  chunksSent: 0,
});

describe('metrics', () => {
  it('are in the text format from the first moment on, with help and type', async () => {
    const families = readMetrics(await metricsOf().text(NOW));
    expect([...families].map(([name, { type }]) => `${name} ${type}`)).toEqual([
      'wirefault_requests_total counter',
      'wirefault_exchanges_total counter',
      'wirefault_answer_bytes_total counter',
      'wirefault_open_connections gauge',
      'wirefault_rules gauge',
      'wirefault_waiting_at_gates gauge',
      'wirefault_dropped_request_records gauge',
      'wirefault_dropped_lanes gauge',
      'wirefault_lost_journal_lines gauge',
    ]);
    for (const { help } of families.values()) expect(help).not.toBe('');
  });

  it('count exchanges by behavior and outcome; the numbers of positions make no series', async () => {
    const metrics = metricsOf();
    for (let n = 1; n <= 50; n++) metrics.onEvent(result(`rst@event:${n}+${n}`, 'reset'));
    for (const name of ['rst@char:3.mid', 'rst@char:4.mid', 'stall@headers']) metrics.onEvent(result(name, 'reset'));
    metrics.onEvent(result('success', 'completed'));
    metrics.onEvent(result('F1+', 'reset'));
    const families = readMetrics(await metrics.text(NOW));
    const samples = families.get('wirefault_exchanges_total')?.samples ?? [];
    expect(samples.map(({ labels, value }) => [labels.behavior, labels.outcome, value])).toEqual([
      ['rst@event', 'reset', 50],
      ['rst@char', 'reset', 2],
      ['stall@headers', 'reset', 1],
      ['success', 'completed', 1],
      ['F1+', 'reset', 1],
    ]);
  });

  it('count requests by what they were for', async () => {
    const metrics = metricsOf();
    const told = { attempt: 1, scriptBehavior: 'a', behavior: 'a', path: '/' };
    metrics.onEvent({ type: 'request', ...told });
    metrics.onEvent({ type: 'request', ...told });
    metrics.onEvent({ type: 'auxiliary', method: 'GET', path: '/', status: 200 });
    metrics.onEvent({ type: 'control', method: 'GET', path: '/__metrics', status: 200 });
    metrics.onEvent({ type: 'rejected', status: 400, reason: '' });
    const families = readMetrics(await metrics.text(NOW));
    const count = (kind: string) => seriesValue(families, 'wirefault_requests_total', { kind });
    expect(['scripted', 'auxiliary', 'control', 'rejected'].map(count)).toEqual([2, 1, 1, 1]);
  });

  it('count exchanges whose events nobody listens to, and those that somebody does', async () => {
    const metrics = metricsOf();
    const events: ServerEvent[] = [];
    const record = {
      attempt: 3,
      scriptBehavior: 'random',
      behavior: 'F2',
      path: '/v1',
      headers: {},
      body: {},
      chunksSent: 2,
      outcome: undefined,
    };
    for (const onEvent of [undefined, (event: ServerEvent) => events.push(event)]) {
      const listener = exchangeListener(metrics, onEvent);
      listener.onRequest(record);
      listener.onResult(record, 'reset', undefined);
      listener.onResult(record, 'upstream_closed', 'it closed');
    }
    const families = readMetrics(await metrics.text(NOW));
    expect(seriesValue(families, 'wirefault_requests_total', { kind: 'scripted' })).toBe(2);
    expect(seriesValue(families, 'wirefault_exchanges_total', { behavior: 'F2', outcome: 'reset' })).toBe(2);
    const told = { attempt: 3, scriptBehavior: 'random', behavior: 'F2', path: '/v1' };
    expect(events).toStrictEqual([
      { type: 'request', ...told },
      { type: 'result', ...told, outcome: 'reset', chunksSent: 2 },
      { type: 'result', ...told, outcome: 'upstream_closed', chunksSent: 2, reason: 'it closed' },
    ]);
  });

  it('sum the bytes of the ledgers by level; what is not known is no number', async () => {
    const metrics = metricsOf();
    metrics.onBytes({ written: 10, flushed: 8, acked: 6, read: null }, 4);
    metrics.onBytes({ written: 5, flushed: 5, acked: null, read: null }, null);
    const families = readMetrics(await metrics.text(NOW));
    const bytes = (level: string) => seriesValue(families, 'wirefault_answer_bytes_total', { level });
    expect(['written', 'flushed', 'acked', 'read', 'lost'].map(bytes)).toEqual([15, 13, 6, undefined, 4]);
  });

  it('tell what is now, and the newest count of lost lines', async () => {
    const metrics = metricsOf();
    metrics.onEvent({ type: 'journal_failed', reason: 'full', lostLines: 3 });
    metrics.onEvent({ type: 'journal_failed', reason: 'full', lostLines: 9 });
    const now = { openConnections: 3, rules: 2, waitingAtGates: 1, droppedRequests: 7, droppedLanes: 8 };
    const families = readMetrics(await metrics.text(now));
    const names = ['open_connections', 'rules', 'waiting_at_gates', 'dropped_request_records', 'dropped_lanes'];
    const values = [...names, 'lost_journal_lines'].map((name) => seriesValue(families, `wirefault_${name}`));
    expect(values).toEqual([3, 2, 1, 7, 8, 9]);
  });

  it('escape what labels may not have', async () => {
    const metrics = metricsOf();
    const name = 'a "quoted"\n\\ name';
    metrics.onEvent(result(name, 'completed'));
    const families = readMetrics(await metrics.text(NOW));
    expect(seriesValue(families, 'wirefault_exchanges_total', { behavior: name })).toBe(1);
  });

  it('are the same each time that they are asked for', async () => {
    const metrics = metricsOf();
    metrics.onEvent(result('success', 'completed'));
    expect(await metrics.text(NOW)).toBe(await metrics.text(NOW));
  });
});
