import { type ResilienceOptions } from '../resilience/resilience-options';

/**
 * Stripe allows 25 calls per second and endpoint by default, in a sandbox 25 in all: 20 per second, with a burst so
 * small that no second sees more than 25.
 */
export const STRIPE_RESILIENCE_DEFAULTS: ResilienceOptions = { ratePerSecond: 20, burst: 5 };
