import { Injectable } from '@nestjs/common';
import { propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OnOrder, type OrderDelivery, type OrderEvent } from 'nestjs-order-timeout';

/** Continues the trace in which an order was placed, however long ago that was. */
@Injectable()
export class OrderWatch {
  @OnOrder(['closed', 'paid'], { name: 'order-watch' })
  end(event: OrderEvent<'closed' | 'paid'>, { traceparent }: OrderDelivery): void {
    const placing = propagation.extract(ROOT_CONTEXT, { traceparent });
    const delivery = trace.getActiveSpan()?.spanContext();
    const links = delivery ? [{ context: delivery }] : [];
    const attributes = { 'order_timeout.key': event.orderId };
    trace.getTracer('shop').startSpan(event.type, { links, attributes }, placing).end();
  }
}
