export { generateWechatPayMerchants, type WechatPaySimulatedMerchants } from './wechat-pay-merchants';
export { WechatPayProtocol } from './wechat-pay-protocol';
