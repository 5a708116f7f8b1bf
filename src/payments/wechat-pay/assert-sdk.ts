import { assertInstalled } from '../payment-providers';

// Import this before anything that imports the SDK.
assertInstalled('wechatpay-axios-plugin', 'nestjs-order-timeout/wechat-pay');
