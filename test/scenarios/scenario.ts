import { type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { type OrderStatus } from '../../src/orders';
import { type Random } from '../support/buyers/random';
import { type Cast } from './playing/cast';

/** The providers whose protocols the simulator speaks. */
export const PROVIDERS = ['alipay', 'wechat-pay', 'stripe'] as const;

export type ProviderName = (typeof PROVIDERS)[number];

/** Two merchants at every provider, so that a mix-up would show. */
export const ACCOUNTS = ['shop-a', 'shop-b'] as const;

/** Rates are limited for each merchant: what asks much does so as a merchant of its own. */
export const BUSY_ACCOUNT = 'shop-busy';

export type Account = (typeof ACCOUNTS)[number] | typeof BUSY_ACCOUNT;

/** What the simulator is told of a payment, but for what the run fills in. `pays-after` and faults count from the placing. */
export type PaymentScript = Omit<
  PaymentInput,
  'provider' | 'reference' | 'orderId' | 'merchantAccount' | 'amount' | 'currency' | 'notify' | 'timeExpire'
>;

/** How the provider tells the service; absent: at once, once, and it gets through. */
export type NotifyScript = Partial<Omit<NonNullable<PaymentInput['notify']>, 'url' | 'headers'>>;

/** One attempt to pay, and everything that buyer, provider and network do about it. */
export interface PlannedPayment extends PaymentScript {
  readonly notify?: NotifyScript | 'none';
  /** The time limit that both sides know; absent: none. Milliseconds after the placing. */
  readonly expiresAfterMs?: number;
  /** Absent: the provider of the scenario's column. */
  readonly provider?: ProviderName;
  /** `later`: by `act`. `never`: the service only hears of it by notification. @default with the order */
  readonly registers?: 'with-order' | 'later' | 'never';
  /** At Stripe a payment intent, never a Checkout Session. */
  readonly isIntent?: true;
  /** At Stripe a Checkout Session. */
  readonly isSession?: true;
  /** Absent: one of the two by chance. */
  readonly account?: Account;
  /** The provider has it under the other merchant than the one it is registered for. */
  readonly isOfOtherMerchant?: true;
}

/** Money that ends in unmatched_payment. */
export type UnmatchedReason =
  'unknown-order' | 'attempt-mismatch' | 'amount-mismatch' | 'currency-mismatch' | 'late' | 'surplus';

/** How an order has to end. Money and stock follow from its status and are checked for every order. */
export interface Ending {
  /** More than one where the race may go either way. */
  readonly status: readonly OrderStatus[];
  /** Refunds that were carried out. @default 0; 1 for CLOSED_REFUNDED */
  readonly refunds?: number;
  /** Rows of unmatched_payment as `reason/handling`. @default what follows from the refunds, see checks */
  readonly unmatched?: readonly string[];
  /** Statuses of all attempts. @default any that is final */
  readonly attempts?: readonly string[];
  /** What was refunded directly at the provider, in minor units: the provider holds that much less. @default 0 */
  readonly givenByHand?: number;
  /** Notifications that the service must have refused and counted. @default 0 */
  readonly forgeries?: number;
  /** At least that many answers of the provider that were not trusted. @default 0 */
  readonly untrustedAnswers?: number;
}

/** One order of a scenario. */
export interface Plan {
  /** From placing to the deadline. */
  readonly windowMs: number;
  readonly payments: readonly PlannedPayment[];
  readonly ends: Ending;
  /** `shop-refund`: late payments, and what is too much, are always refunded · `shop-patient`: takes many attempts. @default 'shop' */
  readonly merchantId?: 'shop' | 'shop-refund' | 'shop-patient';
  /** The deadline closes nothing. */
  readonly autoClose?: false;
  /** A sku of its own of which there is one piece. */
  readonly isLastPiece?: true;
  /** What shop and buyer do beside the script, once the order is placed. */
  readonly act?: (cast: Cast) => Promise<void>;
  /** Instead of `act`, where the machine was too busy for the story: leaves nothing that waits for somebody. */
  readonly breakOff?: (cast: Cast) => Promise<unknown>;
}

/** A story that is played for real, some times for each provider. */
export interface Scenario {
  readonly name: string;
  readonly says: string;
  /** Where it makes sense. @default all */
  readonly providers?: readonly ProviderName[];
  /** Takes more than a minute, as 60 s after the time limit have to pass. */
  readonly isLong?: true;
  /** At each provider, however many orders are played: it takes many calls. */
  readonly most?: number;
  /** Pure: the same numbers give the same plan. */
  plan(random: Random, provider: ProviderName): Plan;
}
