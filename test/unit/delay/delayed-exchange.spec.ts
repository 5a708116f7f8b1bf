import { DelayedExchange } from '../../../src/delay';
import { InvalidDelayError } from '../../../src/delay/delay-transport';
import { TopologyNames } from '../../../src/rabbit';

const transport = new DelayedExchange(new TopologyNames('order-timeout.v1'));

describe('DelayedExchange', () => {
  it.each([
    [0.2, 1],
    [1, 1],
    [127, 127],
    [1_500.01, 1_501],
    [4_294_967_295, 4_294_967_295],
    [4_294_967_296, 4_294_967_295],
    [1e15, 4_294_967_295],
  ])('encodes a delay of %p ms as the 64-bit integer %p', (delayMs, value) => {
    expect(transport.route('order.payment', delayMs)).toEqual({
      exchange: 'order-timeout.v1.delayed',
      routingKey: 'order.payment',
      headers: { 'x-delay': { '!': 'int64', value } },
      mandatory: false,
    });
  });

  it.each([0, -0, -1, -1e15])('routes a delay of %p ms straight to the work queue, without the header', (delayMs) => {
    const route = { exchange: 'order-timeout.v1.work', routingKey: 'order.payment', mandatory: true };
    expect(transport.route('order.payment', delayMs)).toEqual(route);
  });

  it.each([NaN, Infinity, -Infinity])('rejects %p as a delay', (delayMs) => {
    expect(() => transport.route('order.payment', delayMs)).toThrow(InvalidDelayError);
  });
});
