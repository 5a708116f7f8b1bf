import { type ResilienceOptions } from '../resilience/resilience-options';

/**
 * By default, Stripe allows 25 calls per second to each endpoint, and in a sandbox 25 in total. With 20 per second and
 * a burst of 5, no second has more than 25.
 */
export const STRIPE_RESILIENCE_DEFAULTS: ResilienceOptions = { ratePerSecond: 20, burst: 5 };
