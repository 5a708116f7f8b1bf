import { type PaymentProvider } from 'nestjs-order-timeout/payments';

/** Signs its notifications with a blank at the end, which only the raw body has. */
export const blankPay: PaymentProvider = {
  name: 'blank-pay',
  query: async () => ({ type: 'NOT_FOUND' }),
  close: async () => ({ type: 'CLOSED' }),
  refund: async () => ({ type: 'PENDING' }),
  notifications: {
    read: async ({ rawBody }) => {
      const text = rawBody.toString();
      if (!text.endsWith(' ')) return { type: 'REJECTED', reason: 'not signed' };
      const { reference, amount } = JSON.parse(text) as { reference: string; amount: number };
      const money = { amount: BigInt(amount), currency: 'EUR', paidAt: new Date(), transactionId: `t-${reference}` };
      return { type: 'PAID', reference, ...money, evidence: {} };
    },
    reply: (verdict) => ({ status: verdict === 'accepted' ? 200 : 400, contentType: 'text/plain', body: verdict }),
  },
};
