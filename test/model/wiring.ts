import { type Money } from '../../src/orders/pay/book-money';
import { type Violation } from './check-end';
import { decideUnmatched } from '../../src/orders/unmatched/decide-unmatched';
import { decideClaim } from '../../src/orders/pay/decide-claim';
import { splitTaken } from '../../src/orders/unmatched/note-unmatched-money';
import { planClosing } from '../../src/orders/close/plan-closing';
import { decideManualClose } from '../../src/orders/operator/decide-manual-close';
import { earlyMoneyTimeout } from '../../src/orders/order-timeouts';
import { nextStep } from '../../src/orders/lookup/next-step';

/** The decisions that a weaker variant replaces. */
export interface Wiring {
  readonly name: string;
  /** What a variant that is weaker does wrong. */
  readonly shows: Violation['type'];
  readonly nextStep: typeof nextStep;
  readonly decideUnmatched: typeof decideUnmatched;
  /** When an order is examined for money that came before it. */
  readonly earlyMoneyTimeout: typeof earlyMoneyTimeout;
  /** Whether ended orders are looked at again. */
  readonly watches: boolean;
  /** Whether providers are told when to stop taking money. */
  readonly sendsTimeExpire: boolean;
  /** What is known of a payment when it is booked. */
  readonly believes: (money: Money) => Money;
  /** Whether equal references of two merchants are two payments. */
  readonly knowsAccounts: boolean;
  /** Whether a notification without an amount has the provider asked. */
  readonly looksUpOnChange: boolean;
  /** Whether a notification of a change has refunds asked for that are done. */
  readonly checksRefunds: boolean;
  readonly decideClaim: typeof decideClaim;
  readonly splitTaken: typeof splitTaken;
  /** Whether a notification that only a report links to an attempt is looked up first. */
  readonly asksAboutClaims: boolean;
  /** Whether what a person has settled counts as no money. */
  readonly settles: boolean;
  /** Whether payments of erased and purged orders are recognized. */
  readonly remembers: boolean;
  /** Whether two transactions under one reference are two payments. */
  readonly distinguishes: boolean;
  readonly planClosing: typeof planClosing;
  /** Attempts of one order that are asked about at a time; those that could bring money first. */
  readonly lanes: number;
  readonly decideManualClose: typeof decideManualClose;
  /** Whether operators look before they declare attempts closed, and the service looks after them all the same. */
  readonly checksDeclared: boolean;
  /** Whether a transaction sees what was committed before its lock was granted, or what was there when it began. */
  readonly sees: 'committed' | 'snapshot';
}

/** What the service does. */
export const OURS: Wiring = {
  name: 'ours',
  shows: 'fault',
  nextStep,
  decideUnmatched,
  earlyMoneyTimeout,
  watches: true,
  sendsTimeExpire: true,
  believes: (money) => money,
  knowsAccounts: true,
  looksUpOnChange: true,
  checksRefunds: true,
  decideClaim,
  splitTaken,
  asksAboutClaims: true,
  settles: true,
  remembers: true,
  distinguishes: true,
  planClosing,
  lanes: 4,
  decideManualClose,
  checksDeclared: true,
  sees: 'committed',
};
