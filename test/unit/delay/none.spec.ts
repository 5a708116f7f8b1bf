import { NoBrokerWaitError, NoBrokerDelay } from '../../../src/delay';

describe('None', () => {
  it('has no way through the broker', () => {
    expect(() => new NoBrokerDelay().route('order.payment')).toThrow(NoBrokerWaitError);
    expect(() => new NoBrokerDelay().route('order.payment')).toThrow(
      /ORDER_TIMEOUT\/NO_BROKER_WAIT: .*"order.payment"/,
    );
  });

  it('declares nothing, so that no broker is needed', async () => {
    await expect(new NoBrokerDelay().declare()).resolves.toBeUndefined();
    await expect(new NoBrokerDelay().bindKind()).resolves.toBeUndefined();
  });
});
