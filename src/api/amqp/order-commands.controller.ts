import { Controller, Inject, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { CLOCK, type Clock } from '../../clock';
import { RABBIT_TRANSPORT, RabbitContext } from '../../rabbit';
import {
  CancelOrder,
  ExtendDeadline,
  MarkPaid,
  type NewAttempt,
  type NewDeadline,
  type NewOrder,
  PlaceOrders,
  ReadOrder,
  RegisterAttempt,
  type ReportedPayment,
} from '../../orders';
import { accepted, InputPipe } from '../input';
import { newDeadlineCommandSchema, newOrderSchema } from '../../orders/input';
import { CommandErrorFilter } from './command-error.filter';
import { attemptedSchema, type CancelCommand, cancelledSchema, paidSchema } from './command-schemas';
import { senderOf } from './sender-of';

type Result = { readonly outcome: string; readonly code?: string };

/**
 * Another instance may still be placing the order that this command is about, as the broker spreads the commands of
 * one sender over all of them. Placing takes milliseconds.
 */
const PATIENCE_MS = 1_000;

/**
 * Commands that arrive over AMQP; the routing key is the pattern. They come at least once, so each is harmless when
 * repeated. RabbitServer runs those of one order in the order they were sent. What is refused is parked with its reason.
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
    private readonly readOrder: ReadOrder,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @EventPattern<string>('order.placed', RABBIT_TRANSPORT)
  async placed(@Payload(new InputPipe(newOrderSchema)) order: NewOrder, @Ctx() context: RabbitContext): Promise<void> {
    const [result] = await this.placeOrders.execute([order], senderOf(context));
    if (result) accepted(order.id, result);
  }

  @EventPattern<string>('payment.attempted', RABBIT_TRANSPORT)
  attempted(
    @Payload(new InputPipe(attemptedSchema)) { orderId, ...attempt }: NewAttempt & { orderId: string },
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(orderId, () => this.registerAttempt.execute(orderId, attempt, senderOf(context)));
  }

  /** Money is never refused: what fits no order is kept as an orphan payment and reported. */
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  async paid(
    @Payload(new InputPipe(paidSchema)) payment: ReportedPayment,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    // Checked first: money for an unknown order is kept apart for good, and the order would close although it was paid.
    if (!(await this.readOrder.execute(payment.orderId))) await this.clock.sleep(PATIENCE_MS);
    await this.markPaid.execute(payment, senderOf(context));
  }

  @EventPattern<string>('order.extended', RABBIT_TRANSPORT)
  extended(
    @Payload(new InputPipe(newDeadlineCommandSchema)) deadline: NewDeadline,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(deadline.orderId, () => this.extendDeadline.execute(deadline, senderOf(context)));
  }

  @EventPattern<string>('order.cancelled', RABBIT_TRANSPORT)
  cancelled(
    @Payload(new InputPipe(cancelledSchema)) command: CancelCommand,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(command.orderId, () => this.cancelOrder.execute(command, senderOf(context)));
  }

  private async act<T extends Result>(orderId: string, execute: () => Promise<T>): Promise<void> {
    const first = await execute();
    const isUnknown = first.code === 'ORDER_NOT_FOUND';
    if (isUnknown) await this.clock.sleep(PATIENCE_MS);
    accepted(orderId, isUnknown ? await execute() : first);
  }
}
