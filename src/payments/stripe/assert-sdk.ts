import { assertInstalled } from '../assert-installed';

// Import this before anything that imports the SDK.
assertInstalled('stripe', 'nestjs-order-timeout/stripe');
