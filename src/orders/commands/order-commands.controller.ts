import { Controller, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { RABBIT_TRANSPORT, RabbitContext } from '../../rabbit';
import { CancelOrder } from '../cancel-order';
import { ExtendDeadline, type NewDeadline } from '../extend-deadline';
import { accepted, InputPipe, newDeadlineCommandSchema, newOrderSchema } from '../input';
import { MarkPaid, type ReportedPayment } from '../mark-paid';
import { type NewAttempt, type NewOrder } from '../new-order';
import { PlaceOrders } from '../place-orders';
import { RegisterAttempt } from '../register-attempt';
import { CommandErrorFilter } from './command-error.filter';
import { type CancelCommand, cancelledSchema, paidSchema, attemptedSchema } from './command-schemas';
import { senderOf } from './sender-of';

/**
 * Commands that arrive over AMQP; the routing key is the pattern. They come at least once, so each is harmless when
 * repeated. What is refused is parked with its reason.
 */
@Controller()
@UseFilters(CommandErrorFilter)
export class OrderCommandsController {
  constructor(
    private readonly placeOrders: PlaceOrders,
    private readonly registerAttempt: RegisterAttempt,
    private readonly markPaid: MarkPaid,
    private readonly extendDeadline: ExtendDeadline,
    private readonly cancelOrder: CancelOrder,
  ) {}

  @EventPattern<string>('order.placed', RABBIT_TRANSPORT)
  async placed(@Payload(new InputPipe(newOrderSchema)) order: NewOrder, @Ctx() context: RabbitContext): Promise<void> {
    const [result] = await this.placeOrders.execute([order], senderOf(context));
    if (result) accepted(order.id, result);
  }

  @EventPattern<string>('payment.attempted', RABBIT_TRANSPORT)
  async attempted(
    @Payload(new InputPipe(attemptedSchema)) { orderId, ...attempt }: NewAttempt & { orderId: string },
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    accepted(orderId, await this.registerAttempt.execute(orderId, attempt, senderOf(context)));
  }

  /** Money is never refused: what fits no order is kept as an orphan payment and reported. */
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  async paid(
    @Payload(new InputPipe(paidSchema)) payment: ReportedPayment,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    await this.markPaid.execute(payment, senderOf(context));
  }

  @EventPattern<string>('order.extended', RABBIT_TRANSPORT)
  async extended(
    @Payload(new InputPipe(newDeadlineCommandSchema)) deadline: NewDeadline,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    accepted(deadline.orderId, await this.extendDeadline.execute(deadline, senderOf(context)));
  }

  @EventPattern<string>('order.cancelled', RABBIT_TRANSPORT)
  async cancelled(
    @Payload(new InputPipe(cancelledSchema)) command: CancelCommand,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    accepted(command.orderId, await this.cancelOrder.execute(command, senderOf(context)));
  }
}
