import { OrderPolicies } from '../../../src/orders/model/order-policies';

describe('order policies', () => {
  const policies = new OrderPolicies({
    paymentWindowMs: 600_000,
    graceMs: 1_000,
    graceMsByProvider: { bank: 60_000 },
    merchants: { m1: { graceMs: 0, maxPaymentWindowMs: 700_000 } },
  });

  it('uses the values that the merchant sets, and the global values for the rest', () => {
    expect(policies.of('m1')).toMatchObject({ graceMs: 0, paymentWindowMs: 600_000 });
    expect(policies.of('other')).toMatchObject({ graceMs: 1_000 });
  });

  it('take what an instance of a class leaves undefined as not given', () => {
    class OfShop {
      latePayment = undefined;
      paymentWindowMs?: number = undefined;
      graceMs = 5;
    }
    const classes = new OrderPolicies({ latePayment: 'keep', merchants: { m1: new OfShop() as object } });
    expect(classes.of('m1')).toMatchObject({ latePayment: 'keep', paymentWindowMs: 1_800_000, graceMs: 5 });
    class Merchants {
      m1 = { graceMs: 7 };
    }
    expect(new OrderPolicies({ merchants: { ...new Merchants() } }).of('m1').graceMs).toBe(7);
    expect(
      new OrderPolicies({ merchants: new Merchants() as unknown as Record<string, object> }).of('m1').graceMs,
    ).toBe(7);
  });

  it('uses the grace of the order, but at least that of a slow payment method', () => {
    expect(policies.graceMs('other')).toBe(1_000);
    expect(policies.graceMs('other', undefined, 5)).toBe(5);
    expect(policies.graceMs('m1', 'bank')).toBe(60_000);
    expect(policies.graceMs('m1', 'card', 7)).toBe(7);
  });

  it.each(['constructor', '__proto__', 'toString'])('has no grace for a method named %s', (name) => {
    expect(policies.graceMs('other', name)).toBe(1_000);
    expect(policies.graceMs(name, name, 7)).toBe(7);
  });

  it('applies the limits of each merchant', () => {
    expect(policies.allowsWindow('m1', 700_000)).toBe(true);
    expect(policies.allowsWindow('m1', 700_001)).toBe(false);
    expect(policies.allowsWindow('other', 700_001)).toBe(true);
  });

  it('names all invalid values at once', () => {
    const bad = { paymentWindowMs: -1, reminderOffsetsMs: [0.5], merchants: { x: { minPaymentWindowMs: 9_000_000 } } };
    expect(() => new OrderPolicies(bad)).toThrow(/paymentWindowMs must be .*got -1.*reminderOffsetsMs.*merchants\.x\./);
  });
});
