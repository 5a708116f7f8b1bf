import './assert-sdk';
export { STRIPE_RESILIENCE_DEFAULTS, StripeProvider } from './stripe-provider';
export { type StripeMerchant, type StripeOptions } from './stripe-options';
