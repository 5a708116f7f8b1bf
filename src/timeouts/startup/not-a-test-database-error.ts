import { CodedError } from '../../errors';

/** The test kit was pointed at the tables of a running application. It moves their times, so it would close real orders. */
export class NotATestDatabaseError extends CodedError {
  constructor(database: string, schema: string) {
    super(
      'NOT_A_TEST_DATABASE',
      `an application has run on schema "${schema}" of database "${database}", and the test kit would change its data; ` +
        'give the tests a database of their own, or a schema: OrderTimeoutTestKit.override(builder, { schema })',
    );
  }
}
