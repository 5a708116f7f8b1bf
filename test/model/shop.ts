import { type LockedOrder, type AttemptKey, type PaymentAttempt } from '../../src/orders/model/order';
import { type AttemptFinding } from '../../src/orders/model/findings';
import { type Violation } from './check-end';
import { tellOfFailedRefund } from './notifier';
import { Processes, UNKNOWN_ACCOUNT } from './processes';
import { placedWith } from './early-bird';
import { OrderPolicies, type OrderPolicy } from '../../src/orders/model/order-policies';
import {
  deadlineTimeouts,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  paymentTimeout,
} from '../../src/orders/model/order-timeouts';
import { Agenda } from './agenda';
import { closingHandler } from './closing-handler';
import { LatePath } from './late-path';
import { ModelEngine } from './model-engine';
import { ModelProvider } from './model-provider';
import { ModelStock } from './model-stock';
import { ModelStore } from './model-store';
import { type ProviderPayment, type Unit } from './provider-payment';
import { Random } from './random';
import { reconciliationHandler } from './reconciliation-handler';
import { refundHandler } from './refund-handler';
import { drawRunPlan, type RunPlan } from './run-plan';
import { Trace } from './trace';
import { watchHandler } from './watch-handler';
import { type Wiring } from './wiring';
import { type World } from './world';

const START_MS = Date.UTC(2026, 0, 1, 12);

/** The service and its surroundings in one run, set up by its seed. */
export class Shop {
  readonly plan: RunPlan;
  readonly policies: OrderPolicies;
  readonly world: World;
  readonly late: LatePath;
  readonly processes: Processes;
  /** Orders that somebody has lied about: what they say of themselves is not true. */
  readonly liars = new Set<string>();
  /** What was seen to be wrong on the way. */
  readonly noted: Violation[] = [];
  private readonly providers = new Map<string, ModelProvider>();
  private readonly erasedUnits = new Map<string, Unit>();
  private readonly pseudonyms = new Map<string, ProviderPayment>();
  private readonly assigned = new Map<ProviderPayment, string>();

  constructor(seed: number, wiring: Wiring, isTraced: boolean) {
    const random = new Random(seed);
    this.plan = drawRunPlan(random, START_MS, wiring.draws);
    this.policies = new OrderPolicies(this.plan.policy);
    const agenda = new Agenda(START_MS, random);
    const trace = new Trace(isTraced, START_MS, () => agenda.nowMs);
    const common = { agenda, random, trace };
    const { knowledge, gainsAtMs, pause } = this.plan;
    this.processes = new Processes(knowledge, gainsAtMs, common, wiring.resolvesAccounts);
    const isPausedUntil = (): number => (pause && agenda.nowMs >= pause.fromMs ? pause.toMs : 0);
    this.world = {
      ...common,
      wiring,
      processes: this.processes,
      policy: this.policy,
      store: new ModelStore(
        new ModelStock(this.plan.stock),
        () => agenda.now,
        wiring,
        (orderId) => this.world.engine.schedule(paymentTimeout(orderId), agenda.now),
      ),
      engine: new ModelEngine({
        ...common,
        messages: this.plan.messages,
        crashes: this.plan.crashes,
        isPausedUntil,
        countsFromLookUp: wiring.countsFromLookUp,
        forgetsUnclear: wiring.forgetsUnclear,
        written: (answer) => this.hear(answer),
      }),
      providerOf: (attempt) => this.providerOf(attempt),
    };
    for (const account of this.plan.accounts) {
      for (const traits of this.plan.providers) {
        const refundFailed = (payment: ProviderPayment): void => tellOfFailedRefund(this, traits.name, payment);
        const provider = new ModelProvider(traits, { ...common, refundFailed });
        this.providers.set(`${traits.name} ${account}`, provider);
        if (knowledge === 'all') continue;
        for (const none of [null, UNKNOWN_ACCOUNT]) this.providers.set(`${traits.name} ${none}`, provider);
      }
    }
    this.late = new LatePath(this.world);
    const { engine } = this.world;
    engine.handle(ORDER_PAYMENT, closingHandler(this.world, this.late));
    engine.handle(PAYMENT_RECONCILIATION, reconciliationHandler(this.world, this.late));
    engine.handle(PAYMENT_REFUND, refundHandler(this.world));
    engine.handle(ORDER_LATE_WATCH, watchHandler(this.world, this.late));
    trace.note(() => `plan ${JSON.stringify(this.plan)}`);
  }

  get policy(): OrderPolicy {
    return this.policies.of('default');
  }

  /** Milliseconds since the run began. */
  get elapsedMs(): number {
    return this.world.agenda.nowMs - START_MS;
  }

  /** The merchant account that an order is paid to; null: its providers know no merchants. */
  accountOf(orderId: string): string | null {
    const { accounts } = this.plan;
    return (orderId === 'o2' ? accounts[1] : undefined) ?? accounts[0] ?? null;
  }

  /** All payments at all providers. */
  payments(): ProviderPayment[] {
    return [...new Set(this.providers.values())].flatMap((provider) => provider.all());
  }

  /** Notes that the reference of this payment has become a pseudonym here, under which it has no transaction id. */
  rename(
    key: AttemptKey & Partial<Pick<PaymentAttempt, 'paidSource'>>,
    pseudonym: string,
    transactionId: string | null,
  ): void {
    const provider = this.providerOf(key);
    // A report had made up a reference, and the provider or a person has confirmed the payment behind it.
    const isConfirmed = key.paidSource === 'provider' && transactionId !== null;
    const own = provider.find(key.reference);
    const payment = isConfirmed && !own?.taken ? provider.find(transactionId) : own;
    if (!payment || this.pseudonyms.has(pseudonym)) return;
    this.pseudonyms.set(pseudonym, payment);
    const unit = payment.units.find((one) => one.transactionId === transactionId);
    if (unit) this.erasedUnits.set(pseudonym, unit);
  }

  /** The money that was booked under a reference that is erased. */
  erasedUnit({ reference }: AttemptKey): Unit | undefined {
    return this.erasedUnits.get(reference);
  }

  erased({ reference }: AttemptKey): ProviderPayment | undefined {
    return this.pseudonyms.get(reference);
  }

  /** Notes that a person has assigned this payment to the order. */
  assign(payment: ProviderPayment, orderId: string): void {
    this.assigned.set(payment, orderId);
  }

  isAssigned(payment: ProviderPayment, orderId: string): boolean {
    return this.assigned.get(payment) === orderId;
  }

  private hear(answer: unknown): void {
    if (!Array.isArray(answer)) return;
    for (const { finding, ...key } of answer as AttemptFinding[])
      if (finding.type === 'PAID') this.providerOf(key).hear(key.reference);
  }

  private providerOf({
    provider,
    merchantAccount,
  }: {
    provider: string;
    merchantAccount: string | null;
  }): ModelProvider {
    const found = this.providers.get(`${provider} ${merchantAccount}`);
    if (!found) throw new Error(`there is no provider ${provider} of ${merchantAccount}`);
    return found;
  }

  /** Undefined: sold out. */
  place(id: string, first?: AttemptKey): LockedOrder | undefined {
    const { store, engine, agenda, trace, wiring } = this.world;
    if (!store.stock.reserve(id, 1)) return undefined;
    const expiresAt = new Date(agenda.nowMs + this.plan.windowMs);
    const merchantId = id === 'o2' && this.plan.merchants ? 'm2' : 'default';
    const placed = { ...newOrder(id, expiresAt, this.policies.graceMs(merchantId), agenda.now), merchantId };
    const order = { ...placed, autoClose: this.plan.autoClose };
    store.insert(order);
    if (first) placedWith(this, id, first);
    for (const { dueAt = expiresAt, ...ref } of deadlineTimeouts(order, agenda.now)) engine.schedule(ref, dueAt);
    for (const { afterMs = 0, ...ref } of wiring.earlyMoneyTimeout(order, store.adoptable(id).length > 0)) {
      engine.schedule(ref, new Date(agenda.nowMs + afterMs));
    }
    trace.note(() => `order ${id} is placed, and expires at ${expiresAt.toISOString()}`);
    return order;
  }
}

function newOrder(id: string, expiresAt: Date, graceMs: number, createdAt: Date): LockedOrder {
  return {
    id,
    merchantId: 'default',
    status: 'PENDING',
    version: 1,
    amount: 100n,
    currency: 'EUR',
    expiresAt,
    autoClose: true,
    graceMs,
    reminderOffsetsMs: [],
    closingReason: null,
    createdAt,
    closedAt: null,
    paidAt: null,
    attempts: [],
  };
}
