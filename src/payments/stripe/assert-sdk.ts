import { assertInstalled } from '../payment-providers';

// Import this before anything that imports the SDK.
assertInstalled('stripe', 'nestjs-order-timeout/stripe');
