import { SystemClock } from '../../../../src/clock';
import { StripeProvider } from '../../../../src/payments/stripe';
import { SimulatedPayment } from '../../../../packages/payment-simulator/src/simulated-payment';
import { paymentInput } from '../../../../packages/payment-simulator/src/simulator-input';
import { generateStripeMerchants } from '../../../../packages/payment-simulator/src/stripe';
import { stripeEvent } from '../../../../packages/payment-simulator/src/stripe/stripe-event';

const merchants = generateStripeMerchants();

/** What our reader makes of the event that the simulator posts about a paid payment. */
async function readPaid(reference: string, oldForm: boolean) {
  const notify = { url: 'http://shop.test/', oldForm };
  const terms = paymentInput.parse({ provider: 'stripe', reference, amount: 1_999, currency: 'EUR', notify });
  const now = Date.now();
  const payment = new SimulatedPayment(terms, now, { happened: () => undefined, planned: () => undefined });
  payment.pay(now);
  const [merchant] = Object.values(merchants);
  if (!merchant) throw new Error('no merchant was generated');
  const { headers, body } = stripeEvent(payment, 'paid', merchant, now);
  return new StripeProvider({ merchants }, new SystemClock()).notifications?.read({
    headers,
    rawBody: Buffer.from(body),
  });
}

describe('an event of the simulated Stripe', () => {
  it.each(['pi_1', 'cs_test_1'])('about %s has the amount, or in the old format only the change', async (id) => {
    expect(await readPaid(id, false)).toMatchObject({ type: 'PAID', reference: id, amount: 1_999n });
    expect(await readPaid(id, true)).toMatchObject({ type: 'STATUS_CHANGED', reference: id });
  });
});
