import './assert-sdk';
export { type WechatPayMerchant, type WechatPayOptions } from './wechat-pay-options';
export { WechatPayProvider } from './wechat-pay-provider';
