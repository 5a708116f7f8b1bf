import { CodedError } from '../../errors';

/** The database user may not do what we need. */
export class MissingRightsError extends CodedError {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super('MISSING_RIGHTS', sentence, options);
  }

  /** @param user as SQL takes it, quoted where it must be @param lacking for example `INSERT on orders` */
  static toUse(schema: string, user: string, lacking: string): MissingRightsError {
    return new MissingRightsError(
      `the database user ${user} lacks ${lacking} in schema "${schema}"; run as the owner of the tables: ` +
        `GRANT USAGE ON SCHEMA ${schema} TO ${user}; ` +
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user}; ` +
        `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${user};`,
    );
  }
}
