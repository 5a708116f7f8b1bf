import { HandleWebhook } from '../../../src/orders/pay/handle-webhook';
import { RefundRows } from '../../../src/orders/unmatched/refund-rows';
import { type Notification, PaymentObservers, PaymentProviders } from '../../../src/payments';
import { type OperatorDesk } from './operator-desk';
import { SCHEMA } from './shop';

/** The provider posts this. */
export async function post({ shop }: OperatorDesk, notification: Notification): Promise<void> {
  const { store, dataSource, markPaid, scheduler, provider } = shop;
  const notifications = { read: async () => notification, reply: () => ({ status: 200, body: '' }) };
  const posting = { name: 'fake', notifications };
  const providers = new PaymentProviders([Object.assign(Object.create(provider) as typeof provider, posting)]);
  const refunds = new RefundRows(dataSource, SCHEMA);
  const deps = { providers, observers: new PaymentObservers(), store, dataSource, markPaid, scheduler, refunds };
  await new HandleWebhook(deps).execute('fake', { headers: {}, rawBody: Buffer.alloc(0) });
}
