import { Inject, Injectable, Logger } from '@nestjs/common';
import { NoteOnOrders } from '../../orders';
import { type ParkedRow, ParkedRows } from '../../outbox';
import {
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutRef,
  type TimeoutScope,
} from '../../timeouts';
import { CLOCK, type Clock } from '../../clock';
import { type ParkedMessage, ParkedMessages, RabbitClient } from '../../rabbit';
import { type MerchantScope, type OperatorContext } from '../http';

/** Each count opens a connection. */
const COUNT_GOOD_MS = 15_000;

/** A parked message without its body, which may hold personal data. Its reason says what to do, too. */
export type ParkedMessageView = Omit<ParkedMessage, 'body' | 'remedy'>;

@Injectable()
export class BrokerMessages {
  private readonly counts: SharedAnswer<number | null>;

  constructor(
    private readonly client: RabbitClient,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.counts = new SharedAnswer(clock, COUNT_GOOD_MS);
  }

  /** Null: there is no broker, or it does not answer. */
  async count(): Promise<number | null> {
    if (!this.isUp) return null;
    return this.counts.get('', () => this.withMessages((messages) => messages.size())).catch(() => null);
  }

  /** Reads them without taking them. Null: there is no broker, or it does not answer. */
  async list(limit: number): Promise<ParkedMessageView[] | null> {
    const found = await this.withMessages((messages) => messages.list(limit));
    return (
      found &&
      found.map(({ id, routingKey, code, reason, remedy }) => {
        return { id, routingKey, code, reason: reason === null ? remedy : `${reason}; ${remedy}` };
      })
    );
  }

  /** Sends commands again, or deletes messages. Returns how many. Null as in `list`. */
  change(action: 'replay' | 'discard', ids: readonly string[]): Promise<number | null> {
    return this.withMessages((messages) => (action === 'replay' ? messages.retry(ids) : messages.discard(ids)));
  }

  private get isUp(): boolean {
    return this.client.isConfigured && this.client.isUp;
  }

  private async withMessages<T>(work: (messages: ParkedMessages) => Promise<T>): Promise<T | null> {
    if (!this.isUp) return null;
    const { client } = this;
    return client.onTemporaryConnection((connection) => work(new ParkedMessages(connection, client.names)));
  }
}

/** Answers for several callers at once: one question within the time that an answer stays good, however many ask. */
export class SharedAnswer<T> {
  private readonly kept = new Map<string, { readonly answer: Promise<T>; readonly until: number }>();

  /** @param goodForMs how long an answer is given again, in milliseconds. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly goodForMs: number,
  ) {}

  /** @param name callers with the same name share the answer. @param ask how to get it; a failure is not kept. */
  get(name: string, ask: () => Promise<T>): Promise<T> {
    const now = this.clock.monotonic();
    const known = this.kept.get(name);
    if (known && known.until > now) return known.answer;
    for (const [other, { until }] of this.kept) if (until <= now) this.kept.delete(other);
    const answer = ask();
    this.kept.set(name, { answer, until: now + this.goodForMs });
    answer.catch(() => this.kept.delete(name));
    return answer;
  }
}

type Action = 'replay' | 'discard';

type TimeoutAction = { readonly do: Action } | { readonly do: 'reschedule'; readonly afterMs: number };

interface Because {
  readonly by: OperatorContext;
  readonly reason: string;
}

/** What operators do about parked timeouts and messages. The log says who did it, and so do the histories of orders. */
@Injectable()
export class ParkedWork {
  private readonly logger = new Logger(ParkedWork.name);
  private readonly parkedRows: ParkedRows;

  constructor(
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
    private readonly parked: ParkedTimeouts,
    private readonly notes: NoteOnOrders,
    private readonly messages: BrokerMessages,
  ) {
    this.parkedRows = new ParkedRows(options.dataSource, options.schema);
  }

  /**
   * Makes timeouts due now or later, or ends them without their effect. Returns how many were parked. The histories come
   * first: an operator who gets no answer repeats the action, and one too many entries are better than one too few.
   */
  async timeouts(
    action: TimeoutAction,
    refs: readonly TimeoutRef[],
    scope: MerchantScope,
    { by, reason }: Because,
  ): Promise<number> {
    const { do: parked, ...details } = action;
    await this.notes.execute(refs, { by, reason, merchants: scope.merchants, evidence: { parked, ...details } });
    const count = await this.change(action, refs, scope.timeouts(this.options.schema));
    this.log(
      `${parked} of ${count} parked timeouts`,
      refs.map(({ kind, key }) => `${kind}/${key}`),
      { by, reason },
    );
    return count;
  }

  /** Parked rows of the outbox, oldest first. */
  rows(limit: number): Promise<ParkedRow[]> {
    return this.parkedRows.list({ limit });
  }

  /** Sends rows of the outbox again, or deletes them. Returns how many were parked. */
  async changeRows(action: Action, ids: readonly string[], because: Because): Promise<number> {
    const rows = this.parkedRows;
    const count = await (action === 'replay' ? rows.retry(ids) : rows.discard(ids));
    this.log(`${action} of ${count} parked rows of the outbox`, ids, because);
    return count;
  }

  /** Sends commands of the parked queue again, or deletes messages. Null: there is no broker, or it does not answer. */
  async changeMessages(action: Action, ids: readonly string[], because: Because): Promise<number | null> {
    const count = await this.messages.change(action, ids);
    if (count !== null) this.log(`${action} of ${count} parked messages`, ids, because);
    return count;
  }

  private change(action: TimeoutAction, refs: readonly TimeoutRef[], scope: TimeoutScope | undefined): Promise<number> {
    if (action.do === 'reschedule') return this.parked.reschedule(refs, action.afterMs, scope);
    return this.parked[action.do](refs, scope);
  }

  private log(what: string, names: readonly string[], { by, reason }: Because): void {
    this.logger.log(`operator "${by.actor}": ${what}, because: ${reason}; ${names.map(quoted).join(', ')}`);
  }
}

/** A name of a request may hold line breaks, which would forge lines of the log. */
function quoted(name: string): string {
  return JSON.stringify(name);
}
