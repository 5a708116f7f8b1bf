import { routeEvent, type ClaimedRow } from '../../../src/outbox/outbox-claims';
import { TopologyNames } from '../../../src/rabbit/topology';

const row: ClaimedRow = {
  id: '0193a1b2-0000-7000-8000-000000000000',
  lease: '2026-11-21 20:00:30.123456+00',
  route: 'event',
  routing_key: 'order.closed',
  body: '{"note":"Grüße 💶"}',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  remaining_ms: null,
};

describe('an event in the outbox', () => {
  it('goes to the events exchange under its name, with the id of its row and the trace it belongs to', () => {
    expect(routeEvent(new TopologyNames('shop.v2'), row)).toEqual({
      exchange: 'shop.v2.events',
      routingKey: 'order.closed',
      body: Buffer.from('{"note":"Grüße 💶"}', 'utf8'),
      messageId: row.id,
      type: 'order.closed',
      headers: { traceparent: row.traceparent },
    });
  });

  it('has no trace header when it belongs to none', () => {
    expect(routeEvent(new TopologyNames('ot'), { ...row, traceparent: null }).headers).toEqual({});
  });

  it('is not mandatory, as nobody has to listen', () => {
    expect(routeEvent(new TopologyNames('ot'), row)).not.toHaveProperty('mandatory');
  });
});
