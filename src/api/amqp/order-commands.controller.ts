import { Controller, Inject, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { CLOCK, type Clock } from '../../clock';
import { RABBIT_TRANSPORT, RabbitContext } from '../../rabbit';
import { type NewDeadline, type NewOrder, type OrderAttempt, Orders, type ReportedPayment } from '../../orders';
import { accepted, InputPipe } from '../input';
import { newDeadlineCommandSchema, newOrderSchema } from '../../orders/input';
import { CommandErrorFilter } from './command-error.filter';
import { attemptedSchema, type CancelCommand, cancelledSchema, paidSchema } from './command-schemas';
import { senderOf } from './sender-of';

type Result = { readonly outcome: string; readonly code?: string };

/**
 * Another instance may still be placing the order of this command, because the broker spreads the commands of one
 * sender over all instances. Placing takes milliseconds.
 */
const PATIENCE_MS = 1_000;

/**
 * Commands over AMQP; the routing key is the pattern. They are delivered at least once, so each may be repeated safely.
 * RabbitServer runs the commands of one order in the order in which they were sent. Refused commands are parked.
 */
@Controller()
@UseFilters(CommandErrorFilter)
export class OrderCommandsController {
  constructor(
    private readonly orders: Orders,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @EventPattern<string>('order.placed', RABBIT_TRANSPORT)
  async placed(@Payload(new InputPipe(newOrderSchema)) order: NewOrder, @Ctx() context: RabbitContext): Promise<void> {
    accepted(order.id, await this.orders.place(order, { by: senderOf(context) }));
  }

  @EventPattern<string>('payment.attempted', RABBIT_TRANSPORT)
  attempted(
    @Payload(new InputPipe(attemptedSchema)) attempt: OrderAttempt,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(attempt.orderId, () => this.orders.registerAttempt(attempt, { by: senderOf(context) }));
  }

  /** Money is never refused: a payment that fits no order becomes an unmatched payment. */
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  async paid(
    @Payload(new InputPipe(paidSchema)) payment: ReportedPayment,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    // Wait for the order first: money for an unknown order stays unmatched, and the paid order would be closed.
    if (!(await this.orders.get(payment.orderId))) await this.clock.sleep(PATIENCE_MS);
    await this.orders.markPaid(payment, { by: senderOf(context) });
  }

  @EventPattern<string>('order.extended', RABBIT_TRANSPORT)
  extended(
    @Payload(new InputPipe(newDeadlineCommandSchema)) deadline: NewDeadline,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(deadline.orderId, () => this.orders.extendDeadline(deadline, { by: senderOf(context) }));
  }

  @EventPattern<string>('order.cancelled', RABBIT_TRANSPORT)
  cancelled(
    @Payload(new InputPipe(cancelledSchema)) command: CancelCommand,
    @Ctx() context: RabbitContext,
  ): Promise<void> {
    return this.act(command.orderId, () => this.orders.cancel(command, { by: senderOf(context) }));
  }

  private async act<T extends Result>(orderId: string, execute: () => Promise<T>): Promise<void> {
    const first = await execute();
    const isUnknown = first.code === 'ORDER_NOT_FOUND';
    if (isUnknown) await this.clock.sleep(PATIENCE_MS);
    accepted(orderId, isUnknown ? await execute() : first);
  }
}
