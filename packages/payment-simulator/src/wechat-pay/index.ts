export {
  generateWechatPayMerchants,
  type WechatPayPlatformKey,
  type WechatPaySimulatedMerchant,
  type WechatPaySimulatedMerchants,
} from './wechat-pay-merchants';
export { WechatPayProtocol } from './wechat-pay-protocol';
