import { Injectable } from '@nestjs/common';
import { type RabbitContext } from '../../rabbit';
import { AnnounceRefusals, LIMITS, type NewOrder, Orders, type OrderView } from '../../orders';
import { accepted, parseInput, RequestRejectedError } from '../input';
import { COMMAND_SCHEMAS } from './command-schemas';
import { senderOf } from './sender-of';

interface PlacedOrder {
  readonly outcome: 'placed' | 'replayed';
  readonly order: OrderView;
}

/** Places the order of a command. A shop that waits for no answer learns of a refusal by the event `order.refused`. */
@Injectable()
export class PlaceCommand {
  constructor(
    private readonly orders: Orders,
    private readonly refusals: AnnounceRefusals,
  ) {}

  /** @throws RequestRejectedError after its event is stored. */
  async execute(body: unknown, context: RabbitContext): Promise<PlacedOrder> {
    try {
      const input = parseInput(COMMAND_SCHEMAS['order.placed'], body) as NewOrder;
      const { outcome, order } = accepted(input.id, await this.orders.place(input, { by: senderOf(context) }));
      return { outcome, order };
    } catch (error) {
      if (error instanceof RequestRejectedError) await this.announce(error, body, context);
      throw error;
    }
  }

  private announce(error: RequestRejectedError, body: unknown, context: RabbitContext): Promise<void> {
    const { id, merchantId = 'default' } = (body ?? {}) as Readonly<Record<string, unknown>>;
    return this.refusals.execute({
      orderId: idIn(id),
      merchantId: idIn(merchantId),
      code: error.rejection,
      message: error.reason,
      commandId: context.messageId ?? null,
      traceparent: senderOf(context).traceparent,
    });
  }
}

/** The body may be anything. */
function idIn(value: unknown): string | null {
  return typeof value === 'string' && LIMITS.id.test(value) ? value : null;
}
