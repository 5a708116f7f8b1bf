import { onServer } from '../../support/database';

/** Longest duration of one case, milliseconds; docs/testing.md promises it. */
const MOST_MS = 1_000;

describe('the example test of docs/testing.md', () => {
  let startedAt: number;

  beforeEach(() => {
    startedAt = performance.now();
  });

  afterEach(() => expect(performance.now() - startedAt).toBeLessThan(MOST_MS));

  afterAll(() => onServer('DROP SCHEMA IF EXISTS checkout_test CASCADE'));

  // A file of tests declares them when it is loaded.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  require('../../../examples/testing/checkout.spec');
});
