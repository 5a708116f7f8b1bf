import { decideLatePayment } from '../../src/orders/late/decide-late-payment';
import { nextStep } from '../../src/orders/next-step';

/** The decisions that a weaker variant replaces. */
export interface Wiring {
  readonly name: string;
  readonly nextStep: typeof nextStep;
  readonly decideLatePayment: typeof decideLatePayment;
  /** Whether ended orders are looked at again. */
  readonly watches: boolean;
  /** Whether providers are told when to stop taking money. */
  readonly sendsTimeExpire: boolean;
}

/** What the service does. */
export const OURS: Wiring = { name: 'ours', nextStep, decideLatePayment, watches: true, sendsTimeExpire: true };
