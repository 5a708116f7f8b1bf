import { createDatabase, type TestDatabase } from '../../support/database';
import { placeOf, readSnippets, type Snippet } from '../../support/snippets';

/** Tables, roles, and rows that the pages take as given. */
const GIVEN = [
  'CREATE TABLE order_timeout.basket ()',
  'CREATE TABLE order_timeout.typeorm_metadata ()',
  'CREATE TABLE order_timeout.migrations (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)',
  `INSERT INTO order_timeout.migrations ("timestamp", name) VALUES (1700000000000, 'ShopInit1700000000000')`,
];
const ROLE = `DO $$ BEGIN CREATE ROLE app; EXCEPTION WHEN duplicate_object THEN NULL; END $$`;

/** What the reader puts in: an id where the column is one, and a process id. */
function filledIn({ text }: Snippet): string {
  const withIds = text.replace(/\bid = '…'/g, `id = '00000000-0000-4000-8000-000000000000'`);
  return withIds.replaceAll('<pid>', '0').replace(/--.*$/gm, '');
}

describe('SQL in the documentation', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const snippets = readSnippets('sql');

  it('is on several pages', () => expect(new Set(snippets.map(({ page }) => page)).size).toBeGreaterThan(2));

  it.each(snippets.map((snippet) => [placeOf(snippet), snippet] as const))(
    'runs on our tables: %s',
    async (_, snippet) => {
      const runner = database.dataSource.createQueryRunner();
      await runner.startTransaction();
      try {
        for (const statement of [...GIVEN, ROLE, ...filledIn(snippet).split(';')]) {
          if (statement.trim() !== '') await runner.query(statement);
        }
      } finally {
        await runner.rollbackTransaction();
        await runner.release();
      }
    },
  );
});
