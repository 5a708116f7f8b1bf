import { type Account, type Plan, type PlannedPayment, type ProviderName, type Scenario } from '../scenario';

/** A payment as it was made at the provider. */
export interface PlacedPayment {
  readonly plan: PlannedPayment;
  readonly provider: ProviderName;
  readonly reference: string;
  /** Under which the service knows it. */
  readonly account: Account;
  /** Under which the provider has it. */
  readonly ownerAccount: Account;
  /** ISO 8601. */
  readonly timeExpire?: string;
}

/** An order of the run, with everything that the checks have to know of it. */
export interface Placed {
  readonly id: string;
  readonly scenario: Scenario;
  readonly provider: ProviderName;
  readonly plan: Plan;
  readonly amount: number;
  readonly currency: string;
  readonly lines: readonly { readonly sku: string; readonly quantity: number; readonly unitAmount: number }[];
  readonly placedAt: number;
  readonly payments: readonly PlacedPayment[];
  /** The machine was so busy that the deadline came before the story: only the promises for every order are checked. */
  readonly isTooLate: boolean;
}
