import { type Money } from '../../src/orders/model/money';
import { type Violation } from './check-end';
import { type Dimension } from './run-plan';
import { decideUnmatched } from '../../src/orders/unmatched/handle-unmatched';
import { decideClaim } from '../../src/orders/model/decide-claim';
import { splitTaken } from '../../src/orders/unmatched/note-unmatched-money';
import { planClosing } from '../../src/orders/model/plan-closing';
import { decideManualClose } from '../../src/orders/close/end-order';
import { earlyMoneyTimeout } from '../../src/orders/model/order-timeouts';
import { nextStep } from '../../src/orders/lookup/payment-lookups';

/** The decisions that a weaker variant replaces. */
export interface Wiring {
  readonly name: string;
  /** What a variant that is weaker does wrong. */
  readonly shows: Violation['type'];
  /** What its worlds have, or have more often than all worlds. */
  readonly draws: readonly Dimension[];
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
  /** Whether an account that is not known may be any. Else it is one of its own. */
  readonly resolvesAccounts: boolean;
  /** Whether what a provider states must be an amount of money. */
  readonly checksAmounts: boolean;
  /** Whether a person is told what of a payment is too much. */
  readonly showsExcess: boolean;
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
  /** Whether that outlives the row of the list. */
  readonly keepsSettled: boolean;
  /** Whether money that was settled before its attempt was registered is booked as settled. */
  readonly booksSettled: boolean;
  /** Whether a person is told that what was settled as a mere report is there. */
  readonly tellsOfSettled: boolean;
  /** Whether payments of erased and purged orders are recognized. */
  readonly remembers: boolean;
  /** Whether two transactions under one reference are two payments. */
  readonly distinguishes: boolean;
  /** Whether a report may have a transaction id of its own. */
  readonly doubtsIds: boolean;
  /** Whether waiting is counted from the first look-up, and not from when it was due. */
  readonly countsFromLookUp: boolean;
  /** Whether a clear answer lets that begin anew, and makes failures forgotten. */
  readonly forgetsUnclear: boolean;
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
  draws: [],
  nextStep,
  decideUnmatched,
  earlyMoneyTimeout,
  watches: true,
  sendsTimeExpire: true,
  believes: (money) => money,
  knowsAccounts: true,
  resolvesAccounts: true,
  checksAmounts: true,
  showsExcess: true,
  looksUpOnChange: true,
  checksRefunds: true,
  decideClaim,
  splitTaken,
  asksAboutClaims: true,
  settles: true,
  keepsSettled: true,
  booksSettled: true,
  tellsOfSettled: true,
  remembers: true,
  distinguishes: true,
  doubtsIds: true,
  countsFromLookUp: true,
  forgetsUnclear: true,
  planClosing,
  lanes: 4,
  decideManualClose,
  checksDeclared: true,
  sees: 'committed',
};
