export { type AlipaySimulatedMerchants, generateAlipayMerchants } from './alipay-merchants';
export { AlipayProtocol } from './alipay-protocol';
