/** The kinds of buyers, each with its share of 50 orders and the words for the report. */
export const BUYER_GROUPS = {
  'pays-early': { share: 8, says: 'pays early, the shop reports it' },
  'pays-last-100ms': { share: 5, says: 'pays in the last 100 ms' },
  'notify-lost': { share: 5, says: 'pays, and the notification is lost' },
  'never-starts': { share: 7, says: 'never begins to pay' },
  'never-pays': { share: 6, says: 'opens the payment page, never pays' },
  'provider-slow': { share: 3, says: 'the provider answers late' },
  'provider-failing': { share: 4, says: 'the provider fails for a while' },
  cancels: { share: 4, says: 'cancels' },
  extended: { share: 3, says: 'the deadline is extended' },
  shortened: { share: 2, says: 'the deadline is shortened' },
  'pays-too-late': { share: 3, says: 'tries to pay 2 s after the deadline' },
} as const satisfies Record<string, { readonly share: number; readonly says: string }>;

export type BuyerGroup = keyof typeof BUYER_GROUPS;

export const GROUP_NAMES = Object.keys(BUYER_GROUPS) as BuyerGroup[];
