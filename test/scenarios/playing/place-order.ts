import { type ScriptInput } from 'nestjs-order-timeout-payment-simulator';
import { withoutUndefined } from '../../../src/errors';
import { type Random } from '../../support/buyers/random';
import { ACCOUNTS, type PlannedPayment, type ProviderName, type Scenario, type Plan } from '../scenario';
import { type Stage } from '../stage/open-stage';
import { type Placed, type PlacedPayment } from './placed-order';

interface Wanted {
  readonly id: string;
  readonly scenario: Scenario;
  readonly provider: ProviderName;
  readonly plan: Plan;
  readonly random: Random;
  /** Instead of goods of its own. */
  readonly lines?: Placed['lines'];
  /** The payments have the references of these, at the other merchant. */
  readonly twins?: readonly PlacedPayment[];
}

type Unjudged = Omit<Placed, 'isTooLate'>;

/** Several orders share each; there is plenty. */
export const SKUS = ['tea', 'coffee', 'cocoa', 'sugar'] as const;
export const PLENTY = 1_000_000;
/** What has to be left of the window when the story begins. */
const LEAST_MS = 300;
/** All three providers know it, and WeChat Pay no other. */
const CURRENCY = 'CNY';

/**
 * Places the order at the service, makes its payments at the provider, and registers them, as a shop would. Only then
 * the buyer begins: how long all of this takes on a busy machine is no part of the story.
 */
export async function placeOrder(stage: Stage, wanted: Wanted): Promise<Placed> {
  const { id, scenario, provider, plan, random } = wanted;
  const lines = wanted.lines ?? linesOf(id, plan, random);
  const amount = lines.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0);
  const shop = stage.shops[random.between(0, stage.shops.length - 1)];
  if (!shop) throw new Error('the service does not run');
  if (plan.isLastPiece && !wanted.lines) await shop.setStock(`last-of-${id}`, 1);
  const paymentWindowMs = plan.windowMs;
  const { merchantId = 'shop', autoClose = true } = plan;
  const body = { id, merchantId, amount, currency: CURRENCY, paymentWindowMs, lines, autoClose };
  const deadline = await shop.place(body);
  const placedAt = deadline.getTime() - plan.windowMs;
  const payments = plan.payments.map((payment, index) => {
    const placed = toPlaced(payment, provider, random, placedAt);
    const twin = wanted.twins?.[index];
    return twin ? atOtherMerchant(placed, twin) : placed;
  });
  const order = { id, scenario, provider, plan, amount, currency: CURRENCY, lines, placedAt, payments };
  for (const payment of payments) await makePayment(stage, order, payment);
  const toRegister = payments.filter((payment) => isWithOrder(payment));
  for (const payment of toRegister) {
    if (!(await shop.tryRegister(id, attemptOf(payment)))) return { ...order, isTooLate: true };
  }
  const isTooLate = (): boolean => Date.now() > deadline.getTime() - LEAST_MS;
  if (isTooLate()) return { ...order, isTooLate: true };
  for (const payment of payments) if (!isSilent(payment)) await beginStory(stage, order, payment, shop.url);
  return { ...order, isTooLate: isTooLate() };
}

/** What the shop tells the service of a payment. */
export function attemptOf({ provider, reference, account, timeExpire }: PlacedPayment) {
  return { provider, reference, merchantAccount: account, ...(timeExpire === undefined ? {} : { timeExpire }) };
}

function isWithOrder({ plan }: PlacedPayment): boolean {
  return (plan.registers ?? 'with-order') === 'with-order';
}

/** Nobody does anything about it, and nothing is told. */
function isSilent({ plan }: PlacedPayment): boolean {
  return plan.notify === 'none' && plan.script === undefined && plan.faults === undefined;
}

function linesOf(id: string, plan: Plan, random: Random): Placed['lines'] {
  const unitAmount = random.between(100, 5_000);
  if (plan.isLastPiece) return [{ sku: `last-of-${id}`, quantity: 1, unitAmount }];
  const skus = random.shuffled(SKUS).slice(0, random.between(1, 2));
  return skus.map((sku) => ({ sku, quantity: random.between(1, 3), unitAmount: random.between(100, 5_000) }));
}

function toPlaced(plan: PlannedPayment, column: ProviderName, random: Random, placedAt: number): PlacedPayment {
  const provider = plan.provider ?? column;
  const [chosen, other] = random.shuffled(ACCOUNTS);
  if (!chosen || !other) throw new Error('two merchants are needed');
  const account = plan.account ?? chosen;
  const limit = plan.expiresAfterMs;
  return {
    ...{ plan, provider, account, reference: referenceOf(plan, provider, random) },
    ownerAccount: plan.isOfOtherMerchant ? other : account,
    ...(limit === undefined ? {} : { timeExpire: new Date(placedAt + limit).toISOString() }),
  };
}

function atOtherMerchant(payment: PlacedPayment, { reference, account }: PlacedPayment): PlacedPayment {
  const other = ACCOUNTS.find((one) => one !== account) ?? account;
  return { ...payment, reference, account: other, ownerAccount: other };
}

/** 32 characters are the most that WeChat Pay takes. Every third payment at Stripe is a Checkout Session. */
function referenceOf({ isIntent, isSession }: PlannedPayment, provider: ProviderName, random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.between(0, 15).toString(16)).join('');
  if (provider !== 'stripe') return hex;
  const isByChance = random.between(1, 3) === 1;
  return isSession || (!isIntent && isByChance) ? `cs_test_${hex.slice(0, 24)}` : `pi_${hex.slice(0, 24)}`;
}

async function makePayment({ simulator }: Stage, order: Unjudged, payment: PlacedPayment): Promise<void> {
  const { provider, reference, ownerAccount, timeExpire, plan } = payment;
  const isOurs = plan.registers !== 'never' && !plan.isOfOtherMerchant;
  await simulator.create({
    ...{ provider, reference, merchantAccount: ownerAccount, amount: order.amount, currency: order.currency },
    ...(isOurs && { orderId: order.id }),
    ...(timeExpire !== undefined && { timeExpire }),
    ...(plan.existsFrom !== undefined && { existsFrom: plan.existsFrom }),
  });
}

async function beginStory({ simulator }: Stage, order: Unjudged, payment: PlacedPayment, base: string): Promise<void> {
  const { provider, reference, ownerAccount, plan } = payment;
  const { notify, script, faults = [] } = plan;
  const { closeLagMs, closeLies, partialAmount, paidCurrency, refundProcessingMs, rejectRefunds } = plan;
  const passedMs = Date.now() - order.placedAt;
  await simulator.rescript(
    { provider, reference, account: ownerAccount },
    {
      ...withoutUndefined({ closeLagMs, closeLies, partialAmount, paidCurrency, refundProcessingMs, rejectRefunds }),
      ...(script && { script: atInstant(script, order.placedAt) }),
      faults: faults.map((fault) => (fault.afterMs ? { ...fault, afterMs: left(fault.afterMs, passedMs) } : fault)),
      ...(notify !== 'none' && { notify: { url: `${base}/payments/${provider}/notify`, ...notify } }),
    },
  );
}

/** So that the buyer pays in the millisecond that the scenario says, however long the placing took. */
function atInstant(script: NonNullable<PlannedPayment['script']>, placedAt: number): ScriptInput['script'] {
  if (script.buyer !== 'pays-after') return script;
  const { ms, ...manner } = script;
  return { ...manner, buyer: 'pays-at', at: placedAt + ms };
}

/** The simulator counts from now. */
function left(ms: number, passedMs: number): number {
  return Math.max(1, ms - passedMs);
}
