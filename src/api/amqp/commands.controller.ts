import {
  Controller,
  Inject,
  UseFilters,
  UseGuards,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { RABBIT_TRANSPORT, RabbitContext } from '../../rabbit';
import {
  type Cancellation,
  type MarkPaidResult,
  type NewDeadline,
  type OrderAttempt,
  Orders,
  PlaceOrders,
  type OrderView,
  type ReportedPayment,
  type OrderList,
  type OrderPage,
  AnnounceRefusals,
  type CheckedOrder,
  LIMITS,
  type ActionContext,
} from '../../orders';
import { ChangeStock, type StockLevel, Inventory } from '../../inventory';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { accepted, InputPipe, reject, rejectStock, RequestRejectedError, notFound, parseInput } from '../input';
import {
  CommandErrorFilter,
  COMMAND_SCHEMAS,
  type CommandBody,
  REQUEST_SCHEMAS,
  type RequestBody,
  CommandRejectedError,
} from './judge-command';

/** What the sender of a command gets, if it wants an answer. */
interface Answer {
  readonly outcome: string;
  readonly order: OrderView;
}

type Result = { readonly outcome: string; readonly code?: string };

/**
 * Another instance may still be placing the order of this command, because the broker spreads the commands of one
 * sender over all instances. Placing takes milliseconds. More than 16 such commands a second would keep all others waiting,
 * so they wait aside.
 */
const PATIENCE_MS = 1_000;

/** Places the order of a command. A shop that waits for no answer learns of a refusal by the event `order.refused`. */
@Injectable()
export class PlaceCommand {
  constructor(
    private readonly placing: PlaceOrders,
    private readonly refusals: AnnounceRefusals,
  ) {}

  /** @throws RequestRejectedError after its event is stored. */
  async execute(body: unknown, context: RabbitContext): Promise<PlacedOrder> {
    try {
      const input = parseInput(COMMAND_SCHEMAS['order.placed'], body) as CheckedOrder;
      const { outcome, order } = accepted(input.id, await this.placing.placeChecked(input, senderOf(context)));
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
    return this.act(attempt.orderId, context, () => this.orders.registerAttempt(attempt, { by: senderOf(context) }));
  }

  /** Money is never refused: a payment that fits no order becomes an unmatched payment. */
  @EventPattern<string>('order.paid', RABBIT_TRANSPORT)
  async paid(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.paid'])) payment: ReportedPayment,
    @Ctx() context: RabbitContext,
  ): Promise<MarkPaidResult> {
    // Wait for the order first: money for an unknown order stays unmatched, and the paid order would be closed.
    if (!(await this.orders.get(payment.orderId))) await context.pause(PATIENCE_MS);
    return this.orders.markPaid(payment, { by: senderOf(context) });
  }

  @EventPattern<string>('order.extended', RABBIT_TRANSPORT)
  extended(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.extended'])) deadline: NewDeadline,
    @Ctx() context: RabbitContext,
  ): Promise<Answer> {
    return this.act(deadline.orderId, context, () => this.orders.extendDeadline(deadline, { by: senderOf(context) }));
  }

  @EventPattern<string>('order.cancelled', RABBIT_TRANSPORT)
  cancelled(
    @Payload(new InputPipe(COMMAND_SCHEMAS['order.cancelled'])) command: Cancellation,
    @Ctx() context: RabbitContext,
  ): Promise<Answer> {
    return this.act(command.orderId, context, () => this.orders.cancel(command, { by: senderOf(context) }));
  }

  private async act<T extends Result>(
    orderId: string,
    context: RabbitContext,
    execute: () => Promise<T>,
  ): Promise<Exclude<T, { outcome: 'rejected' }>> {
    const first = await execute();
    const isUnknown = first.code === 'ORDER_NOT_FOUND';
    if (isUnknown) await context.pause(PATIENCE_MS);
    return accepted(orderId, isUnknown ? await execute() : first);
  }
}

/** Commands that change stock. RabbitServer runs those of one SKU in the order in which they were sent. */
@Controller()
@UseFilters(CommandErrorFilter)
export class StockCommandsController {
  constructor(private readonly changing: ChangeStock) {}

  @EventPattern<string>('stock.changed', RABBIT_TRANSPORT)
  async changed(
    @Payload(new InputPipe(COMMAND_SCHEMAS['stock.changed'])) command: CommandBody<'stock.changed'>,
  ): Promise<StockLevel> {
    const { sku, merchantId, ...move } = command;
    const outcome = await this.changing.execute(sku, move, merchantId);
    if (outcome.type === 'set') return outcome.level;
    if (outcome.type !== 'foreign') throw rejectStock(sku, outcome);
    throw reject(sku, { code: 'SKU_OF_ANOTHER_MERCHANT', merchantId });
  }
}

/** Admits messages whose sender waits for an answer. */
@Injectable()
class AnswerableGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { replyTo, pattern } = context.switchToRpc().getContext<RabbitContext>();
    if (replyTo !== undefined) return true;
    const reason = `"${pattern}" only reads, so it needs a queue for the answer; set the property reply_to`;
    throw new CommandRejectedError({ code: 'REPLY_TO_MISSING', reason }, undefined);
  }
}

/** Requests over AMQP, which read for every merchant. Those without a queue for the answer are parked. */
@Controller()
@UseGuards(AnswerableGuard)
@UseFilters(CommandErrorFilter)
export class RequestsController {
  constructor(
    private readonly orders: Orders,
    private readonly inventory: Inventory,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  @EventPattern<string>('order.read', RABBIT_TRANSPORT)
  async order(
    @Payload(new InputPipe(REQUEST_SCHEMAS['order.read'])) { orderId }: RequestBody<'order.read'>,
  ): Promise<OrderView> {
    const order = await this.orders.get(orderId);
    if (!order) throw notFound(orderId);
    return order;
  }

  @EventPattern<string>('orders.read', RABBIT_TRANSPORT)
  list(@Payload(new InputPipe(REQUEST_SCHEMAS['orders.read'])) page: OrderPage): Promise<OrderList> {
    return this.orders.list(page);
  }

  @EventPattern<string>('stock.read', RABBIT_TRANSPORT)
  async stock(
    @Payload(new InputPipe(REQUEST_SCHEMAS['stock.read'])) { sku }: RequestBody<'stock.read'>,
  ): Promise<StockLevel> {
    const [level] = await this.inventory.read(this.options.dataSource.manager, [sku]);
    if (!level) throw reject(sku, { code: 'SKU_NOT_FOUND' });
    return level;
  }
}

interface PlacedOrder {
  readonly outcome: 'placed' | 'replayed';
  readonly order: OrderView;
}

/** The body may be anything. */
function idIn(value: unknown): string | null {
  return typeof value === 'string' && LIMITS.id.test(value) ? value : null;
}

const NAME = /^[\x20-\x7e]{1,128}$/;

/** The sender, for the history: the AMQP property `app-id`, else `user-id`, which the broker has verified. */
function senderOf(context: RabbitContext): ActionContext {
  const { properties } = context.getArgs()[0].message;
  const names: unknown[] = [properties.appId, properties.userId];
  const actor = names.find((name): name is string => typeof name === 'string' && NAME.test(name));
  return { cause: 'command', actor, traceparent: activeTraceparent() ?? traceparentOf(context.traceparent) };
}
