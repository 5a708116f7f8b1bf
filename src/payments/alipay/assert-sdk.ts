import { assertInstalled } from '../payment-providers';

// Import this before anything that imports the SDK.
assertInstalled('alipay-sdk', 'nestjs-order-timeout/alipay');
