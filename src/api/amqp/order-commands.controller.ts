import { Controller, Inject, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { CLOCK, type Clock } from '../../clock';
import { RABBIT_TRANSPORT, RabbitContext } from '../../rabbit';
import {
  type Cancellation,
  type MarkPaidResult,
  type NewDeadline,
  type OrderAttempt,
  Orders,
  type OrderView,
  type ReportedPayment,
} from '../../orders';
import { accepted, InputPipe } from '../input';
import { CommandErrorFilter } from './command-error.filter';
import { COMMAND_SCHEMAS } from './command-schemas';
import { PlaceCommand } from './place-command';
import { senderOf } from './sender-of';

/** What the sender of a command gets, if it wants an answer. */
interface Answer {
  readonly outcome: string;
  readonly order: OrderView;
}

type Result = { readonly outcome: string; readonly code?: string };

/**
 * Another instance may still be placing the order of this command, because the broker spreads the commands of one
 * sender over all instances. Placing takes milliseconds.
 */
const PATIENCE_MS = 1_000;

/**
 * Commands over AMQP; the routing key is the pattern. They are delivered at least once, so each may be repeated safely.
 * RabbitServer runs the commands of one order in the order in which they were sent. It sends what a handler returns to the
 * sender, if that wants an answer, and parks refused commands.
 */
@Controller()
@UseFilters(CommandErrorFilter)
export class OrderCommandsController {
  constructor(
    private readonly orders: Orders,
    private readonly placing: PlaceCommand,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @EventPattern<string>('order.placed', RABBIT_TRANSPORT)
  placed(@Payload() body: unknown, @Ctx() context: RabbitContext): Promise<Answer> {
    return this.placing.execute(body, context);
  }

  @EventPattern<string>('payment.attempted', RABBIT_TRANSPORT)
  attempted(
    @Payload(new InputPipe(COMMAND_SCHEMAS['payment.attempted'])) attempt: OrderAttempt,
    @Ctx() context: RabbitContext,
  ): Promise<Answer> {
    return this.act(attempt.orderId, () => this.orders.registerAttempt(attempt, { by: senderOf(context) }));
  }

  /** Money is never refused: a payment that fits no order becomes an unmatched payment. */
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  async paid(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.paid'])) payment: ReportedPayment,
    @Ctx() context: RabbitContext,
  ): Promise<MarkPaidResult> {
    // Wait for the order first: money for an unknown order stays unmatched, and the paid order would be closed.
    if (!(await this.orders.get(payment.orderId))) await this.clock.sleep(PATIENCE_MS);
    return this.orders.markPaid(payment, { by: senderOf(context) });
  }

  @EventPattern<string>('order.extended', RABBIT_TRANSPORT)
  extended(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.extended'])) deadline: NewDeadline,
    @Ctx() context: RabbitContext,
  ): Promise<Answer> {
    return this.act(deadline.orderId, () => this.orders.extendDeadline(deadline, { by: senderOf(context) }));
  }

  @EventPattern<string>('order.cancelled', RABBIT_TRANSPORT)
  cancelled(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.cancelled'])) command: Cancellation,
    @Ctx() context: RabbitContext,
  ): Promise<Answer> {
    return this.act(command.orderId, () => this.orders.cancel(command, { by: senderOf(context) }));
  }

  private async act<T extends Result>(
    orderId: string,
    execute: () => Promise<T>,
  ): Promise<Exclude<T, { outcome: 'rejected' }>> {
    const first = await execute();
    const isUnknown = first.code === 'ORDER_NOT_FOUND';
    if (isUnknown) await this.clock.sleep(PATIENCE_MS);
    return accepted(orderId, isUnknown ? await execute() : first);
  }
}
