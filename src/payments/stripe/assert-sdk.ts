import { assertInstalled } from '../assert-installed';

// Imported before everything that imports the SDK.
assertInstalled('stripe', 'nestjs-order-timeout/stripe');
