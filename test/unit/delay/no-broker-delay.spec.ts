import { NoBrokerDelay } from '../../../src/delay';
import { NoBrokerWaitError } from '../../../src/delay/delay-transport';

describe('NoBrokerDelay', () => {
  it('has no route through the broker', () => {
    expect(() => new NoBrokerDelay().route('order.payment')).toThrow(NoBrokerWaitError);
    expect(() => new NoBrokerDelay().route('order.payment')).toThrow(
      /ORDER_TIMEOUT\/NO_BROKER_WAIT: .*"order.payment"/,
    );
  });

  it('declares nothing, so it needs no broker', async () => {
    await expect(new NoBrokerDelay().declare()).resolves.toBeUndefined();
    await expect(new NoBrokerDelay().bindKind()).resolves.toBeUndefined();
  });
});
