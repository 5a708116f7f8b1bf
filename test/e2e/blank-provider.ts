import { type PaymentProvider } from '../../src/public/payments';

/** Posts notifications whose signature is a blank at the end, which only the raw body has. */
export const blankProvider: PaymentProvider = {
  name: 'posting',
  query: async () => ({ type: 'OPEN' }),
  close: async () => ({ type: 'CLOSED' }),
  refund: async () => ({ type: 'PENDING' }),
  notifications: {
    read: async ({ rawBody }) => {
      const text = rawBody.toString();
      if (!text.endsWith(' ')) return { type: 'REJECTED', reason: 'not signed' };
      const { reference, amount } = JSON.parse(text) as { reference: string; amount: number };
      const money = { amount: BigInt(amount), currency: 'EUR', paidAt: new Date(), transactionId: 't-1' };
      return { type: 'PAID', reference, ...money, evidence: { text } };
    },
    reply: (verdict) => {
      if (verdict === 'accepted') return { status: 204, body: '' };
      return { status: verdict === 'later' ? 500 : 401, body: verdict };
    },
  },
};
