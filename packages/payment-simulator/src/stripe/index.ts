export {
  generateStripeMerchants,
  type StripeSimulatedMerchant,
  type StripeSimulatedMerchants,
} from './stripe-merchants';
export { StripeProtocol } from './stripe-protocol';
