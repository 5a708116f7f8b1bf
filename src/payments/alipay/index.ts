import './assert-sdk';
export { type AlipayMerchant, type AlipayOptions } from './alipay-gateway';
export { ALIPAY_RESILIENCE_DEFAULTS, AlipayProvider } from './alipay-provider';
