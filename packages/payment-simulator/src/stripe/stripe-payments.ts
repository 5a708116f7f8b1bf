import { randomBytes } from 'node:crypto';
import { type PaymentLedger } from '../payment-ledger';
import { type SimulatedPayment } from '../simulated-payment';
import { paymentInput } from '../simulator-input';
import { intentOf, isSession, refundOf, sessionOf } from './stripe-objects';
import { missing, ok, stripeError, type StripeResult } from './stripe-result';

/** A form as Stripe takes it: flat, with names like `metadata[order_id]`. */
export type StripeForm = URLSearchParams;

/** For how long a Checkout Session may be open, in milliseconds. */
const SESSION_MS = { least: 30 * 60_000, most: 24 * 3_600_000 };

/** What Stripe does with payments. Time is in epoch milliseconds. */
export class StripePayments {
  constructor(
    private readonly provider: string,
    private readonly ledger: PaymentLedger,
  ) {}

  createIntent(form: StripeForm, merchantAccount: string, now: number): StripeResult {
    const created = this.create(`pi_${randomId()}`, form, merchantAccount, {
      amount: Number(form.get('amount')),
      currency: form.get('currency'),
    });
    return created instanceof Error ? invalid(created.message) : ok(intentOf(created.entry(now), false));
  }

  createSession(form: StripeForm, merchantAccount: string, now: number): StripeResult {
    if (form.get('mode') !== 'payment') return invalid('the simulator knows sessions of mode payment only');
    const expiresAt = form.has('expires_at') ? Number(form.get('expires_at')) * 1_000 : now + SESSION_MS.most;
    // A second of grace: Stripe counts in whole seconds.
    if (!(expiresAt >= now + SESSION_MS.least - 1_000 && expiresAt <= now + SESSION_MS.most + 1_000)) {
      return invalid('expires_at must be between 30 minutes and 24 hours from Checkout Session creation');
    }
    const created = this.create(`cs_test_${randomId()}`, form, merchantAccount, {
      amount: totalOf(form),
      currency: form.get('line_items[0][price_data][currency]'),
      timeExpire: expiresAt,
    });
    return created instanceof Error
      ? invalid(created.message)
      : ok(sessionOf(created.entry(now), expiresAt, now, false));
  }

  retrieveIntent(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    // Before the query: a buyer who pays right after it must not show in its answer.
    const body = intentOf(payment.entry(now), isExpanded(form));
    const isThere = payment.query(now) !== 'NOT_FOUND' && (!isSession(payment.terms.reference) || hasIntent(body));
    return isThere ? ok(body) : missing('payment_intent', payment.terms.reference);
  }

  retrieveSession(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    const { timeExpire, reference } = payment.terms;
    const body = sessionOf(payment.entry(now), timeExpire, now, isExpanded(form));
    return payment.query(now) === 'NOT_FOUND' ? missing('checkout.session', reference) : ok(body);
  }

  cancelIntent(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    const { reference } = payment.terms;
    if (isSession(reference))
      return unexpectedState('You cannot perform this action on PaymentIntents created by Checkout.');
    const result = payment.close(now);
    if (result === 'NOT_FOUND') return missing('payment_intent', reference);
    const intent = intentOf(payment.entry(now), isExpanded(form));
    // With a lag or a lie scripted, the payment goes on after the answer.
    if (result === 'CLOSED') return ok({ ...intent, status: 'canceled', cancellation_reason: 'abandoned' });
    const message = `You cannot cancel this PaymentIntent because it has a status of ${String(intent['status'])}.`;
    return unexpectedState(message);
  }

  expireSession(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    const { timeExpire, reference } = payment.terms;
    const { status } = sessionOf(payment.entry(now), timeExpire, now, false);
    const result = status === 'open' ? payment.close(now) : undefined;
    if (result === 'NOT_FOUND') return missing('checkout.session', reference);
    if (result === 'CLOSED') {
      return ok({ ...sessionOf(payment.entry(now), timeExpire, now, isExpanded(form)), status: 'expired' });
    }
    const message = `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${String(status)}\`.`;
    return stripeError(400, { message });
  }

  /** Stripe knows no refund by the shop's number: the same number under a new idempotency key is a second refund. */
  createRefund(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    const given = form.get('metadata[refundNumber]') ?? randomId();
    const before = payment.entry(now);
    const twins = before.refunds.filter(({ number }) => number.split('#')[0] === given).length;
    const number = twins === 0 ? given : `${given}#${twins + 1}`;
    const left = BigInt(before.paidAmount ?? 0) - BigInt(before.refundedAmount);
    const amount = form.has('amount') ? BigInt(form.get('amount') ?? 0) : left;
    if (payment.refund(now, { number, amount }) === 'rejected') return refundRefused(before.paidAmount, left, amount);
    const entry = payment.entry(now);
    const made = entry.refunds.find((one) => one.number === number);
    return made ? ok(refundOf(entry, made)) : stripeError(500, { type: 'api_error', message: 'refund is gone' });
  }

  /** Newest first. What was refused never became a refund. */
  listRefunds(payment: SimulatedPayment, form: StripeForm, now: number): StripeResult {
    const entry = payment.entry(now);
    const all = entry.refunds.filter(({ status }) => status !== 'REJECTED').map((one) => refundOf(entry, one));
    const limit = Number(form.get('limit') ?? 10);
    const data = all.reverse().slice(0, limit);
    return ok({ object: 'list', url: '/v1/refunds', has_more: all.length > limit, data });
  }

  private create(
    reference: string,
    form: StripeForm,
    merchantAccount: string,
    terms: { amount: number; currency: string | null; timeExpire?: number },
  ): SimulatedPayment | Error {
    const orderId = form.get('metadata[order_id]') ?? form.get('client_reference_id') ?? undefined;
    const currency = terms.currency?.toUpperCase();
    const input = { ...terms, provider: this.provider, reference, merchantAccount, currency, orderId };
    const parsed = paymentInput.safeParse(input);
    if (!parsed.success) return parsed.error;
    return this.ledger.create(parsed.data) ?? new Error(`${reference} is taken`);
  }
}

function totalOf(form: StripeForm): number {
  let total = 0;
  for (let line = 0; form.has(`line_items[${line}][price_data][unit_amount]`); line += 1) {
    const quantity = Number(form.get(`line_items[${line}][quantity]`) ?? 1);
    total += quantity * Number(form.get(`line_items[${line}][price_data][unit_amount]`));
  }
  return total;
}

function isExpanded(form: StripeForm): boolean {
  return [...form].some(
    ([name, value]) => name.startsWith('expand') && /^(?:latest_charge|payment_intent)/.test(value),
  );
}

function hasIntent({ status }: Readonly<Record<string, unknown>>): boolean {
  return status !== 'requires_payment_method' && status !== 'canceled';
}

function refundRefused(paid: string | null, left: bigint, amount: bigint): StripeResult {
  if (paid === null) return unexpectedState('This PaymentIntent does not have a successful charge to refund.');
  if (left === 0n)
    return stripeError(400, { code: 'charge_already_refunded', message: 'Charge has already been refunded.' });
  if (amount > left) {
    const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`;
    return stripeError(400, { code: 'amount_too_large', message });
  }
  return stripeError(400, { code: 'balance_insufficient', message: 'Insufficient funds in your Stripe balance.' });
}

function unexpectedState(message: string): StripeResult {
  return stripeError(400, { code: 'payment_intent_unexpected_state', message });
}

function invalid(message: string): StripeResult {
  return stripeError(400, { code: 'parameter_invalid', message });
}

function randomId(): string {
  return randomBytes(12).toString('hex');
}
