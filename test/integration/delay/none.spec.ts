import { NoBrokerDelay } from '../../../src/delay';
import { describeDelayTransport } from './conformance';

// Only what a hold can show: with this transport a wake-up never sees the broker.
describeDelayTransport({
  title: 'None',
  profile: 'plain',
  horizonMs: 1_260,
  unroutable: 'not applicable',
  transportOf: () => new NoBrokerDelay(),
});
