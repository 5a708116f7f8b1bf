import { randomBytes } from 'node:crypto';

/** A merchant as both sides know it, in the shape that StripeProvider takes. */
export interface StripeSimulatedMerchant {
  readonly secretKey: string;
  /** Events are signed with every one of them, as Stripe does while one is being rolled. */
  readonly webhookSecrets: readonly string[];
  /** The connected account that the payments belong to. */
  readonly stripeAccount?: string;
}

/** Merchants by account. A payment without an account belongs to the first. */
export type StripeSimulatedMerchants = Readonly<Record<string, StripeSimulatedMerchant>>;

/** Merchants with new keys of test mode. */
export function generateStripeMerchants(accounts: readonly string[] = ['shop']): StripeSimulatedMerchants {
  return Object.fromEntries(accounts.map((account) => [account, generateMerchant()]));
}

function generateMerchant(): StripeSimulatedMerchant {
  const [key, secret] = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')];
  return { secretKey: `sk_test_${key}`, webhookSecrets: [`whsec_${secret}`] };
}
