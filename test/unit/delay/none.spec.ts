import { NoBrokerWaitError, None } from '../../../src/delay';

describe('None', () => {
  it('has no way through the broker', () => {
    expect(() => new None().route('order.payment')).toThrow(NoBrokerWaitError);
    expect(() => new None().route('order.payment')).toThrow(/ORDER_TIMEOUT\/NO_BROKER_WAIT: .*"order.payment"/);
  });

  it('declares nothing, so that no broker is needed', async () => {
    await expect(new None().declare()).resolves.toBeUndefined();
    await expect(new None().bindKind()).resolves.toBeUndefined();
  });
});
