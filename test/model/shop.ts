import { type LockedOrder } from '../../src/orders/order';
import { OrderPolicies } from '../../src/orders/order-policies';
import { type AttemptKey } from '../../src/orders/payment-attempt';
import { type OrderPolicy } from '../../src/orders/order-policy-options';
import {
  deadlineTimeouts,
  earlyMoneyTimeout,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from '../../src/orders/order-timeouts';
import { Agenda } from './agenda';
import { closingHandler } from './closing-handler';
import { LatePath } from './late-path';
import { ModelEngine } from './model-engine';
import { ModelProvider } from './model-provider';
import { ModelStock } from './model-stock';
import { ModelStore } from './model-store';
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
  private readonly providers = new Map<string, ModelProvider>();
  private readonly owners = new Map<string, string>();
  private readonly told = new Set<string>();

  constructor(seed: number, wiring: Wiring, isTraced: boolean) {
    const random = new Random(seed);
    this.plan = drawRunPlan(random, START_MS);
    this.policies = new OrderPolicies(this.plan.policy);
    const agenda = new Agenda(START_MS, random);
    const trace = new Trace(isTraced, START_MS, () => agenda.nowMs);
    const common = { agenda, random, trace };
    this.world = {
      ...common,
      wiring,
      policy: this.policy,
      store: new ModelStore(new ModelStock(this.plan.stock), () => agenda.now, wiring.knowsAccounts),
      engine: new ModelEngine({ ...common, messages: this.plan.messages, crashes: this.plan.crashes }),
      providerOf: (attempt) => this.providerOf(attempt),
    };
    for (const account of this.plan.accounts) {
      for (const traits of this.plan.providers) {
        this.providers.set(`${traits.name} ${account}`, new ModelProvider(traits, common));
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

  /** Notes which order the shop has begun a payment for. */
  own(key: AttemptKey, orderId: string): void {
    this.owners.set(idOf(key), orderId);
  }

  orderOf(key: AttemptKey): string | undefined {
    return this.owners.get(idOf(key));
  }

  /** Notes that the provider has got through to the service about this payment. */
  heard(key: AttemptKey): void {
    this.told.add(idOf(key));
  }

  hasHeard(key: AttemptKey): boolean {
    return this.told.has(idOf(key));
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
  place(id: string): LockedOrder | undefined {
    const { store, engine, agenda, trace } = this.world;
    if (!store.stock.reserve(id, 1)) return undefined;
    const expiresAt = new Date(agenda.nowMs + this.plan.windowMs);
    const placed = newOrder(id, expiresAt, this.policies.graceMs('default'), agenda.now);
    const order = { ...placed, autoClose: this.plan.autoClose };
    store.insert(order);
    for (const { dueAt = expiresAt, ...ref } of deadlineTimeouts(order, agenda.now)) engine.schedule(ref, dueAt);
    for (const { afterMs = 0, ...ref } of earlyMoneyTimeout(order, false)) {
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

function idOf({ provider, merchantAccount, reference }: AttemptKey): string {
  return [provider, merchantAccount, reference].join('\n');
}
