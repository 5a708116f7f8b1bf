import { assertInstalled } from '../assert-installed';

// Imported before everything that imports the SDK.
assertInstalled('wechatpay-axios-plugin', 'nestjs-order-timeout/wechat-pay');
