import { DelayedExchange, Ladder } from '../../../src/delay';
import { type ClaimedRow } from '../../../src/outbox';
import { TopologyNames } from '../../../src/rabbit';
import { routeWakeUp } from '../../../src/timeouts/message-path/transport-switch';

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
    const { exchange, headers } = routeWakeUp(new DelayedExchange(names), row, 60_000);
    expect(exchange).toBe(names.delayed);
    expect(headers).toMatchObject({ 'x-delay': { value: 59_800 } });
  });

  it('chooses the wait in the ladder so that at least 200 ms are left to hold', () => {
    const unitsFor = (remainingMs: number): string => routeWakeUp(new Ladder(names), row, remainingMs).routingKey;
    expect(unitsFor(5_200)).toMatch(/\.5\.order\.payment$/);
    expect(unitsFor(5_199)).toMatch(/\.4\.order\.payment$/);
  });

  it.each([200, 0, -5_000])('sends what is due within the head start to the work queue (%d ms)', (remainingMs) => {
    const message = routeWakeUp(new Ladder(names), row, remainingMs);
    expect(message).toMatchObject({ exchange: names.work, routingKey: 'order.payment', mandatory: true });
  });

  it('keeps body, id, kind and trace of the row', () => {
    const message = routeWakeUp(new Ladder(names), row, 60_000);
    expect(message).toMatchObject({
      messageId: row.id,
      type: row.routing_key,
      headers: { traceparent: row.traceparent },
    });
    expect(message.body.toString()).toBe(row.body);
  });
});
