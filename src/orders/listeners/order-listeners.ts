import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type OutboxEntry, Outbox } from '../../outbox';
import { TimeoutScheduler } from '../../timeouts';
import { type OrderEventType, type TransitionCause } from '../model/transition';
import { type UnmatchedHandling, type UnmatchedReason } from '../model/unmatched-money';

interface Joined {
  readonly types: ReadonlySet<string>;
  readonly call: (events: OrderEvent[], tx: EntityManager) => unknown;
}

interface Subscription {
  readonly types: ReadonlySet<string>;
  readonly kind: string;
}

@Injectable()
export class OrderListeners {
  private readonly joined: Joined[] = [];
  private readonly subscriptions: Subscription[] = [];

  constructor(private readonly scheduler: TimeoutScheduler) {}

  /** The kinds of timeouts whose payload is an event that is not delivered. */
  get kinds(): readonly string[] {
    return this.subscriptions.map(({ kind }) => kind);
  }

  /** Calls `call` in the transactions that write these events. */
  join(types: readonly OrderEventType[], call: Joined['call']): void {
    this.joined.push({ types: new Set(types), call });
  }

  /** Schedules a timeout of this kind for each of these events. Its key is the event's id, and its payload the event. */
  subscribe(types: readonly OrderEventType[], kind: string): void {
    this.subscriptions.push({ types: new Set(types), kind });
  }

  /** Called in the transaction that writes these events. An error rolls it back. */
  async tell(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void> {
    for (const { types, call } of this.joined) {
      const heard = events.filter(({ routingKey }) => types.has(routingKey));
      const bodies = heard.map(({ body }) => body as unknown as OrderEvent);
      if (bodies.length > 0) await call(bodies, tx);
    }
    const deliveries = this.subscriptions.flatMap(({ types, kind }) =>
      events.filter(({ routingKey }) => types.has(routingKey)).map((event) => deliveryOf(event, kind)),
    );
    if (deliveries.length > 0) await this.scheduler.schedule(deliveries, { tx });
  }
}

function deliveryOf({ id, body, traceparent }: OutboxEntry, kind: string) {
  return { kind, key: id, afterMs: 0, payload: body, ...(traceparent === undefined ? {} : { traceparent }) };
}

type NameOf<Type> = Type extends `order.${infer Name}` ? Name : never;

/** What a listener can hear: the event type without `order.`, for example `closed`. */
export type OrderEventName = NameOf<OrderEventType>;

/** What every event has. */
export interface OrderEventHead<Name extends OrderEventName> {
  /** UUID of the event, the same in every copy and at every attempt. */
  readonly id: string;
  readonly type: `order.${Name}`;
  /** Version of this contract. */
  readonly version: number;
  /** PostgreSQL's time in the transaction that changed the order, ISO 8601. */
  readonly occurredAt: string;
}

/** The order at the time of the event. */
export interface OrderFacts {
  readonly orderId: string;
  readonly merchantId: string;
  /** Grows with every event that changes the order. */
  readonly orderVersion: number;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  /** The buyer's deadline, ISO 8601. */
  readonly expiresAt: string;
}

/** Why the order changed. */
export interface OrderChangeFacts extends OrderFacts {
  readonly reason: string | null;
  readonly cause: TransitionCause;
}

/** A new order. */
export interface PlacedFacts extends OrderFacts {
  readonly cause: TransitionCause;
}

/** An order that was sent as a message, and not placed. */
export interface RefusedFacts {
  /** Null: the message has no valid id. */
  readonly orderId: string | null;
  readonly merchantId: string | null;
  /** Code of the refusal, for example `OUT_OF_STOCK`. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** `message_id` of the message, if it had one. */
  readonly commandId: string | null;
}

/** A reminder before the deadline. */
export interface ReminderFacts extends OrderFacts {
  /** How long before the deadline, milliseconds. */
  readonly offsetMs: number;
}

/** Money that came back to the buyer. */
export interface RefundFacts extends OrderChangeFacts {
  readonly refundNumber: string;
  readonly refundId: string;
  readonly provider: string;
  readonly reference: string;
  /** Minor units. */
  readonly refundedAmount: number;
  readonly refundedCurrency: string;
}

/** Money that no open order expects. */
export interface UnmatchedPaymentFacts {
  /** Null: the payment names no order. */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount?: string;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
}

/** The fields of each event in addition to its head. */
export interface OrderEventFacts {
  /** Only where the policy `placedEvents` is `send`. */
  readonly placed: PlacedFacts;
  readonly refused: RefusedFacts;
  readonly expiring: ReminderFacts;
  readonly closing: OrderChangeFacts;
  readonly closed: OrderChangeFacts;
  readonly cancelled: OrderChangeFacts;
  readonly paid: OrderChangeFacts;
  readonly payment_late: UnmatchedPaymentFacts;
  readonly refunding: OrderChangeFacts;
  readonly refunded: RefundFacts;
}

/** An event as listeners, webhooks, and AMQP consumers receive it. New fields may be added. */
export type OrderEvent<Name extends OrderEventName = OrderEventName> = {
  [N in Name]: OrderEventHead<N> & OrderEventFacts[N];
}[Name];

/** Where order events go: to the outbox, and to the listeners. */
@Injectable()
export class OrderEventLog {
  constructor(
    private readonly outbox: Outbox,
    private readonly listeners: OrderListeners,
  ) {}

  /** Whether statements that change orders also write their events. False: there is no broker that would take them. */
  get writesEvents(): boolean {
    return this.outbox.options.hasReader !== false;
  }

  /** Tells the listeners of events that a statement has written. */
  tell(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void> {
    return this.listeners.tell(tx, events);
  }

  /** Writes events that belong to no statement. */
  async append(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void> {
    await this.outbox.append(tx, events);
    await this.tell(tx, events);
  }
}
