export { generateStripeMerchants, type StripeSimulatedMerchants } from './stripe-merchants';
export { StripeProtocol } from './stripe-protocol';
