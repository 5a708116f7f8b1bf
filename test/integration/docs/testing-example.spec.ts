import { onServer } from '../../support/database';
import { stretched } from '../../support/machine-load';

/** docs/testing.md promises that a case takes less, milliseconds, on a machine that is not overloaded. */
const LIMIT_MS = 1_000;

describe('the example test of docs/testing.md', () => {
  const tookMs: number[] = [];
  let startedAt: number;

  beforeEach(() => {
    startedAt = performance.now();
  });

  afterEach(() => void tookMs.push(performance.now() - startedAt));

  afterAll(async () => {
    await onServer('DROP SCHEMA IF EXISTS checkout_test CASCADE');
    // The median, because other tests run beside them.
    expect(tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length / 2)]).toBeLessThan(stretched(LIMIT_MS));
  });

  // A file of tests declares them when it is loaded.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  require('../../../examples/testing/checkout.spec');
});
