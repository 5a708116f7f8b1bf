import { DelayedExchange, Ladder } from '../../../src/delay';
import { type ClaimedRow, wakeUpBody } from '../../../src/outbox';
import { TopologyNames } from '../../../src/rabbit';
import { Partitions } from '../../../src/timeouts/wake-ups/partitions';
import { routeWakeUp } from '../../../src/timeouts/wake-ups/route-wake-up';

const names = new TopologyNames('order-timeout.v1');
const row: ClaimedRow = {
  id: 'message-1',
  lease: '2026-11-21 20:00:30.123456+00',
  route: 'wake-up',
  routing_key: 'order.payment',
  body: '{"key":"order-1"}',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  remaining_ms: null,
};

describe('routeWakeUp', () => {
  it('asks the delayed exchange for the message 200 ms before it is due', () => {
    const { exchange, headers } = routeWakeUp(new DelayedExchange(names), new Partitions(1), row, 60_000);
    expect(exchange).toBe(names.delayed);
    expect(headers).toMatchObject({ 'x-delay': { value: 59_800 } });
  });

  it('chooses the wait in the ladder so that at least 200 ms are left to hold', () => {
    const unitsFor = (remainingMs: number): string =>
      routeWakeUp(new Ladder(names), new Partitions(1), row, remainingMs).routingKey;
    expect(unitsFor(5_200)).toMatch(/\.5\.order\.payment$/);
    expect(unitsFor(5_199)).toMatch(/\.4\.order\.payment$/);
  });

  it.each([200, 0, -5_000])('sends what is due within the head start to the work queue (%d ms)', (remainingMs) => {
    const message = routeWakeUp(new Ladder(names), new Partitions(1), row, remainingMs);
    expect(message).toMatchObject({ exchange: names.work, routingKey: 'order.payment', mandatory: true });
  });

  it('chooses the work queue of the key that the body names', () => {
    const partitions = new Partitions(64);
    const routed = ['order-1', 'order-2', 'order-3'].map((key) => {
      const body = JSON.stringify(wakeUpBody('order.payment', key, '7', 0));
      return routeWakeUp(new Ladder(names), partitions, { ...row, body }, 0).routingKey;
    });
    expect(routed).toEqual(['order-1', 'order-2', 'order-3'].map((key) => partitions.for('order.payment', key)));
    expect(new Set(routed).size).toBe(3);
  });

  it('keeps body, id, kind and trace of the row', () => {
    const message = routeWakeUp(new Ladder(names), new Partitions(1), row, 60_000);
    expect(message).toMatchObject({
      messageId: row.id,
      type: row.routing_key,
      headers: { traceparent: row.traceparent },
    });
    expect(message.body.toString()).toBe(row.body);
  });
});
