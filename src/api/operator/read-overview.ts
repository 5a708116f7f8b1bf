import { type DataSource } from 'typeorm';
import { type Clock, withTimeout } from '../../clock';
import { ownQuery } from '../../database';
import { merchantTimeouts, ORDER_PAYMENT, type SummarizeOrders, type UnmatchedPayments } from '../../orders';
import { type Outbox, type OutboxBacklog } from '../../outbox';
import { type PaymentProviders } from '../../payments';
import { type RabbitClient } from '../../rabbit';
import {
  COUNT_LIMIT,
  MINUTE_LIMIT,
  oldestOverdue,
  type ResolvedTimeoutsOptions,
  type TimeoutEngine,
  type TimeoutSummary,
} from '../../timeouts';
import { type MerchantScope } from '../http';
import { type BrokerMessages } from './broker-messages';
import { type Lateness } from './lateness';
import { type KnownFacts, MINUTES, type Overview, type StoredFacts, toOverview } from './overview';
import { providerStates } from './provider-states';
import { SharedAnswer } from './shared-answer';

interface Dependencies {
  readonly options: ResolvedTimeoutsOptions;
  readonly engine: TimeoutEngine;
  readonly client: RabbitClient;
  readonly outbox: Outbox;
  readonly timeouts: TimeoutSummary;
  readonly orders: SummarizeOrders;
  readonly unmatched: UnmatchedPayments;
  readonly providers: PaymentProviders;
  readonly messages: BrokerMessages;
  readonly lateness: Lateness;
  readonly clock: Clock;
}

/** Everybody who looks within a second gets the same answer. */
const GOOD_MS = 1_000;
/** A page that waits longer for the database shows that it does not answer. */
const PATIENCE_MS = 2_000;
const BACKLOG_MS = 1_000;

/** Reads the state of everything when somebody looks. Nothing is read while nobody does. */
export class ReadOverview {
  private readonly answers: SharedAnswer<Overview>;

  constructor(private readonly deps: Dependencies) {
    this.answers = new SharedAnswer(deps.clock, GOOD_MS);
  }

  /** Takes at most about two seconds, even if the database does not answer. */
  execute({ merchants }: MerchantScope): Promise<Overview> {
    return this.answers.get(JSON.stringify(merchants ?? null), () => this.read(merchants));
  }

  private async read(merchants: readonly string[] | undefined): Promise<Overview> {
    const { clock } = this.deps;
    const reading = this.stored(merchants).catch(() => undefined);
    const [stored, known] = await Promise.all([
      withTimeout<StoredFacts | undefined>(clock, PATIENCE_MS, reading, undefined),
      this.known(),
    ]);
    return toOverview(known, stored, { count: COUNT_LIMIT, perMinute: MINUTE_LIMIT }, new Date(clock.now()));
  }

  /** On three connections at most, because requests need the others. */
  private async stored(merchants: readonly string[] | undefined): Promise<StoredFacts> {
    const { timeouts, orders, unmatched, options } = this.deps;
    const { dataSource, schema } = options;
    const scope = merchants && merchantTimeouts(schema, merchants);
    const [summary, ofTimeouts, others] = await Promise.all([
      orders.execute(merchants),
      inTurn(
        () => Promise.resolve(merchants ? null : timeouts.due(ORDER_PAYMENT, MINUTES)),
        () => timeouts.parkedByKind(scope),
        () => databaseNow(dataSource),
      ),
      inTurn(
        () => oldestOverdue(dataSource, schema),
        () => unmatched.countOpen(COUNT_LIMIT, merchants),
        () => this.backlog(),
      ),
    ]);
    const [due, parked, now] = ofTimeouts;
    const [overdue, open, backlog] = others;
    return { now, summary, due, backlog, parked, overdue, unmatched: open };
  }

  /** Null: it takes too long, because a great many messages wait for a broker. */
  private backlog(): Promise<OutboxBacklog | null> {
    const { clock, outbox, options } = this.deps;
    return withTimeout<OutboxBacklog | null>(clock, BACKLOG_MS, outbox.backlog(options.dataSource), null);
  }

  private async known(): Promise<KnownFacts> {
    const { engine, client, lateness, messages } = this.deps;
    const { path, kinds, controls } = engine;
    return {
      kinds,
      controlOf: (kind) => controls.of(`kind:${kind}`),
      transport: path.choice,
      broker: client.isConfigured ? (client.isUp ? 'up' : 'down') : 'not configured',
      messagePath: path.state,
      doubt: path.doubt,
      lateness: lateness.read(),
      providers: providerStates(this.deps.providers, controls),
      parkedMessages: await withTimeout(this.deps.clock, PATIENCE_MS, messages.count(), null),
    };
  }
}

type Ask<T> = () => Promise<T>;

/** One question after the other. */
async function inTurn<A, B, C>(first: Ask<A>, second: Ask<B>, third: Ask<C>): Promise<[A, B, C]> {
  return [await first(), await second(), await third()];
}

async function databaseNow(dataSource: DataSource): Promise<Date> {
  const [row] = await ownQuery<{ now: Date }[]>(dataSource, 'SELECT clock_timestamp() AS now');
  if (!row) throw new Error('a clock without an answer');
  return row.now;
}
