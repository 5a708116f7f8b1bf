import { Logger } from '@nestjs/common';
import { merchantTimeouts, type NoteOnOrders } from '../../orders';
import { type ParkedRow, type ParkedRows } from '../../outbox';
import { type ParkedTimeouts, type TimeoutRef, type TimeoutScope } from '../../timeouts';
import { type MerchantScope } from '../http';
import { type BrokerMessages } from './broker-messages';
import { type OperatorContext } from './by-operator.decorator';

type Action = 'replay' | 'discard';

/** What is done with parked timeouts. */
export type TimeoutAction = { readonly do: Action } | { readonly do: 'reschedule'; readonly afterMs: number };

/** Who acts, and why. */
export interface Because {
  readonly by: OperatorContext;
  readonly reason: string;
}

interface Dependencies {
  readonly schema: string;
  readonly timeouts: ParkedTimeouts;
  readonly notes: NoteOnOrders;
  readonly rows: ParkedRows;
  readonly messages: BrokerMessages;
}

/** What operators do about parked timeouts and messages. The log says who did it, and so do the histories of orders. */
export class ParkedWork {
  private readonly logger = new Logger(ParkedWork.name);

  constructor(private readonly deps: Dependencies) {}

  /**
   * Makes timeouts due now or later, or ends them without their effect. Returns how many were parked. The histories come
   * first: an operator who gets no answer repeats the action, and one too many entries are better than one too few.
   */
  async timeouts(
    action: TimeoutAction,
    refs: readonly TimeoutRef[],
    { merchants }: MerchantScope,
    { by, reason }: Because,
  ): Promise<number> {
    const { notes, schema } = this.deps;
    const scope: TimeoutScope | undefined = merchants && merchantTimeouts(schema, merchants);
    const { do: parked, ...details } = action;
    await notes.execute(refs, { by, reason, merchants, evidence: { parked, ...details } });
    const count = await this.change(action, refs, scope);
    this.log(
      `${parked} of ${count} parked timeouts`,
      refs.map(({ kind, key }) => `${kind}/${key}`),
      { by, reason },
    );
    return count;
  }

  /** Parked rows of the outbox, oldest first. */
  rows(limit: number): Promise<ParkedRow[]> {
    return this.deps.rows.list({ limit });
  }

  /** Sends rows of the outbox again, or deletes them. Returns how many were parked. */
  async changeRows(action: Action, ids: readonly string[], because: Because): Promise<number> {
    const { rows } = this.deps;
    const count = await (action === 'replay' ? rows.retry(ids) : rows.discard(ids));
    this.log(`${action} of ${count} parked rows of the outbox`, ids, because);
    return count;
  }

  /** Sends commands of the parked queue again, or deletes messages. Null: there is no broker, or it does not answer. */
  async changeMessages(action: Action, ids: readonly string[], because: Because): Promise<number | null> {
    const count = await this.deps.messages.change(action, ids);
    if (count !== null) this.log(`${action} of ${count} parked messages`, ids, because);
    return count;
  }

  private change(action: TimeoutAction, refs: readonly TimeoutRef[], scope: TimeoutScope | undefined): Promise<number> {
    const { timeouts } = this.deps;
    return action.do === 'reschedule'
      ? timeouts.reschedule(refs, action.afterMs, scope)
      : timeouts[action.do](refs, scope);
  }

  private log(what: string, names: readonly string[], { by, reason }: Because): void {
    this.logger.log(`operator "${by.actor}": ${what}, because: ${reason}; ${names.map(quoted).join(', ')}`);
  }
}

/** A name of a request may hold line breaks, which would forge lines of the log. */
function quoted(name: string): string {
  return JSON.stringify(name);
}
