import './assert-sdk';
export { STRIPE_RESILIENCE_DEFAULTS } from './stripe-resilience-defaults';
export { type StripeMerchant, type StripeOptions } from './stripe-options';
export { StripeProvider } from './stripe-provider';
