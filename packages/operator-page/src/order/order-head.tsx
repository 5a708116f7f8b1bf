import { type ComponentChildren, type JSX } from 'preact';
import { type OrderDetails } from '../api/order-contract';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { StatusBadge } from '../ui/badge';
import { Instant, Money } from '../ui/values';
import { Countdown } from './countdown';
import { OrderActions } from './order-actions';

interface OrderPartProps {
  readonly order: OrderDetails;
  readonly onChange: () => void;
}

/** The state of the order, its deadline, and the actions. */
export function OrderHead({ order, onChange }: OrderPartProps): JSX.Element {
  const { t } = useApp();
  return (
    <section class="panel order-head" aria-label={t.shell.order}>
      <div class="order-state">
        <StatusBadge status={order.status} />
        <span class="order-amount">
          <Money amount={order.amount} currency={order.currency} />
        </span>
        <Countdown order={order} />
      </div>
      <OrderFacts order={order} />
      <OrderActions order={order} onChange={onChange} />
    </section>
  );
}

function OrderFacts({ order }: { order: OrderDetails }): JSX.Element {
  const { t } = useApp();
  return (
    <dl class="facts facts-row">
      <Fact name={t.order.merchant}>
        <a href={formatRoute('orders', { merchantId: order.merchantId })}>{order.merchantId}</a>
      </Fact>
      <Fact name={t.order.deadline}>
        <Instant at={order.expiresAt} />
      </Fact>
      <Fact name={t.order.placed}>
        <Instant at={order.createdAt} />
      </Fact>
      {order.paidAt !== undefined && (
        <Fact name={t.order.paid}>
          <Instant at={order.paidAt} />
        </Fact>
      )}
      {order.closedAt !== undefined && (
        <Fact name={t.order.closed}>
          <Instant at={order.closedAt} />
        </Fact>
      )}
      <Fact name={t.order.payable}>{order.payable ? t.order.yes : t.order.no}</Fact>
      <Fact name={t.order.autoClose}>{order.autoClose ? t.order.on : t.order.off}</Fact>
      <Fact name={t.order.version}>{order.version}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
