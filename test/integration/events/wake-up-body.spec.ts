import { wakeUpBody, wakeUpBodySql } from '../../../src/outbox/outbox';
import { createDatabase, type TestDatabase } from '../../support/database';

interface Row {
  readonly kind: string;
  readonly key: string;
  readonly generation: string;
  readonly due_ms: number;
  readonly body: unknown;
}

const WAKE_UPS = [
  ['order.payment', 'order-1', '1', '2026-11-21T20:00:30Z'],
  ['order.payment', 'a "quoted" key', '7', '2026-11-21T20:00:30.123Z'],
  ['a.kind', '订单-7', '9223372036854775807', '2026-11-21T20:00:30.123001Z'],
  ['a.kind', String.raw`a\b`, '8', '2026-11-21T20:00:30.999999Z'],
];

describe('the body of a wake-up', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('is the same whether the process or the database makes it', async () => {
    const rows = await database.dataSource.query<Row[]>(
      `SELECT kind, key, generation::text, (extract(epoch FROM due_at) * 1000)::float8 AS due_ms,
              ${wakeUpBodySql('due_at')} AS body
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[]) AS w(kind, key, generation, due_at)`,
      [0, 1, 2, 3].map((column) => WAKE_UPS.map((wakeUp) => wakeUp[column])),
    );
    expect(rows).toHaveLength(WAKE_UPS.length);
    for (const { kind, key, generation, due_ms: dueMs, body } of rows) {
      expect(body).toEqual(wakeUpBody(kind, key, generation, dueMs));
    }
  });
});
