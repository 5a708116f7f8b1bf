import { onServer } from '../../support/database';

describe('the example of docs/listeners.md, "Keep stock in your own table"', () => {
  afterAll(() => onServer('DROP SCHEMA IF EXISTS own_stock_test CASCADE'));

  // A file of tests declares them when it is loaded.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  require('../../../examples/own-stock/own-stock.spec');
});
