import { Registry } from 'prom-client';
import { EngineMetrics } from '../../../src/operations/state-metrics';
import { type SettledRow } from '../../../src/timeouts';

const row = (type: SettledRow['outcome']['type'], lateMs: number): SettledRow =>
  ({
    due: {
      kind: 'k',
      key: 'x',
      generation: '1',
      dueAt: new Date(100_000 - lateMs),
      attempts: 0,
      payload: {},
      cause: 'message',
    },
    outcome: { type },
  }) as SettledRow;

describe('EngineMetrics', () => {
  it('measures the lateness of finished timeouts, and counts every outcome', async () => {
    const registry = new Registry();
    const metrics = new EngineMetrics(registry);
    metrics.settled('k', [row('done', 20), row('done', -3), row('retry', 90_000)], 100_000);
    metrics.unavailable('k');
    metrics.undecodable('k');
    metrics.wakeUpsMissed('k', 3);
    metrics.transport('ladder');
    const text = await registry.metrics();
    expect(text).toContain('order_timeout_lateness_seconds_count{kind="k",cause="message"} 2');
    expect(text).toContain('order_timeout_lateness_seconds_sum{kind="k",cause="message"} 0.02');
    expect(text).toContain('order_timeout_lateness_seconds_bucket{le="0.005",kind="k",cause="message"} 1');
    expect(text).toContain('order_timeout_settled_total{kind="k",cause="message",outcome="retry"} 1');
    expect(text).toContain('order_timeout_away_total{kind="k"} 1');
    expect(text).toContain('order_timeout_undecodable_total{kind="k"} 1');
    expect(text).toContain('order_timeout_missed_wake_ups_total{kind="k"} 3');
    expect(text).toContain('order_timeout_transport_switches_total{name="ladder"} 1');
  });

  it('counts from 0, so that the first loss is an increase', async () => {
    const registry = new Registry();
    const metrics = new EngineMetrics(registry, () => ['k']);
    const counters = ['away', 'undecodable', 'missed_wake_ups'].map((name) => `order_timeout_${name}_total{kind="k"}`);
    const before = await registry.metrics();
    for (const counter of counters) expect(before).toContain(`${counter} 0`);
    metrics.wakeUpsMissed('k', 1);
    expect(await registry.metrics()).toContain('order_timeout_missed_wake_ups_total{kind="k"} 1');
  });

  it('can be created several times in one process', () => {
    expect(() => [new EngineMetrics(new Registry()), new EngineMetrics(new Registry())]).not.toThrow();
  });
});
