import { assertInstalled } from '../assert-installed';

// Imported before everything that imports the SDK.
assertInstalled('alipay-sdk', 'nestjs-order-timeout/alipay');
