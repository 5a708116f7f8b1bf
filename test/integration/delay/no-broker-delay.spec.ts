import { NoBrokerDelay } from '../../../src/delay';
import { describeDelayTransport } from './conformance';

// Covers only what a buffer in the process can do: with this transport a wake-up never reaches the broker.
describeDelayTransport({
  title: 'NoBrokerDelay',
  profile: 'plain',
  horizonMs: 1_260,
  unroutable: 'not applicable',
  transportOf: () => new NoBrokerDelay(),
});
