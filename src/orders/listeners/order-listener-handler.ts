import { Logger } from '@nestjs/common';
import { DONE, type DueTimeout, LOOK_UP, type TimeoutHandlerBatch, type TimeoutOutcome } from '../../timeouts';
import { type OrderDelivery } from './on-order.decorator';
import { type OrderEvent } from './order-event';

type Answer = { readonly type: 'heard' } | { readonly type: 'failed'; readonly reason: string };

/** Delivers events to one listener, as look-ups: outside any transaction, under a lease. */
export class OrderListenerHandler implements TimeoutHandlerBatch<Answer> {
  private readonly logger = new Logger('OrderListeners');

  constructor(
    private readonly name: string,
    private readonly call: (event: OrderEvent, delivery: OrderDelivery) => unknown,
  ) {}

  handleBatch(timeouts: readonly DueTimeout<Answer>[]): Promise<TimeoutOutcome[]> {
    return Promise.resolve(timeouts.map(({ answer }) => outcomeOf(answer)));
  }

  /** Does not reject: the engine would take the lost connection of a mail server for the database's and count nothing. */
  async lookUp({ key, payload, attempts, traceparent }: DueTimeout, signal: AbortSignal): Promise<Answer> {
    const attempt = attempts + 1;
    try {
      const event = payload as unknown as OrderEvent;
      await this.call(event, { attempt, signal, ...(traceparent === undefined ? {} : { traceparent }) });
      return { type: 'heard' };
    } catch (error) {
      const { message, stack } = error instanceof Error ? error : new Error(String(error));
      this.logger.error(`${this.name} failed for event ${key}, attempt ${attempt}: ${message}`, stack);
      return { type: 'failed', reason: message };
    }
  }
}

function outcomeOf(answer: Answer | undefined): TimeoutOutcome {
  if (answer === undefined) return LOOK_UP;
  return answer.type === 'heard' ? DONE : { type: 'retry', counted: true, reason: answer.reason };
}
