import { HandleNotification } from '../../../src/orders/pay/handle-notification';
import { type Notification } from '../../../src/payments';
import { type OperatorDesk } from './operator-desk';

/** The provider posts this. */
export async function post({ shop }: Pick<OperatorDesk, 'shop'>, notification: Notification): Promise<void> {
  const notifications = { read: async () => notification, reply: () => ({ status: 200, body: '' }) };
  const posting = Object.assign(Object.create(shop.provider) as typeof shop.provider, { name: 'fake', notifications });
  const services = await shop.servicesWith(posting);
  await services.get(HandleNotification).execute('fake', { headers: {}, rawBody: Buffer.alloc(0) });
}

/** The provider tells of a payment. */
export function tellPaid(desk: Pick<OperatorDesk, 'shop'>, reference: string, transactionId: string, amount = 1_999n) {
  const money = { amount, currency: 'EUR', paidAt: new Date(), transactionId };
  return post(desk, { type: 'PAID', reference, ...money, evidence: {} });
}
