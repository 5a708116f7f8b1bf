import './assert-sdk';
export { STRIPE_GUARD_DEFAULTS } from './stripe-guard-defaults';
export { type StripeMerchant, type StripeOptions } from './stripe-options';
export { StripeProvider } from './stripe-provider';
