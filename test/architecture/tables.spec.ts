import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which module may name which table in its SQL. Others compose what it exports, so a table can change with one module. */
const OWNERS = {
  outbox: 'outbox',
  timeout: 'timeouts',
  timeout_generation: 'timeouts',
  engine_setting: 'timeouts',
  orders: 'orders',
  order_line: 'orders',
  order_history: 'orders',
  payment_attempt: 'orders',
  unmatched_payment: 'orders',
  orphan_payment: 'orders',
  payment_name_key: 'orders',
  refund: 'orders',
  handled_payment: 'orders',
  idempotency_key: 'orders',
  inventory: 'inventory',
  reservation: 'inventory',
} as const;
type Table = keyof typeof OWNERS;

/** Files that put the name of a table together, and so hide it from the test below. */
const COMPOSED = {
  'database/host-transactions/explain-failure.ts': 'updates no row of it, only to have a condition looked at',
  'database/migration-of.ts': 'drops the indexes that it creates',
  'database/migrations.ts': 'records migrations in tables of its own, and creates the indexes that migrations name',
  'module/grants-sql.ts': 'names the tables that record migrations, and the one with a key',
  'module/uninstall-tables.ts': 'drops what the migrations of all modules have created',
  'operations/doctor/server-examination.ts': 'names in a remedy the table that PostgreSQL has reported',
  'orders/migrations/orders.ts': 'drops the tables and indexes that it creates',
  'orders/migrations/payments.ts': 'takes back what it changes in three tables of orders',
  'orders/sql/personal-data.ts': 'reads the evidence of four tables of orders alike',
  'orders/retention/purge-orders.ts': 'deletes from five tables of orders alike',
  'timeouts/model/errors.ts': 'names in a remedy the tables whose rows are hidden',
};

const source = join(__dirname, '../../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

const name = `"?(${Object.keys(OWNERS).join('|')})\\b`;
/** Behind a schema, which is nearly always a variable, or alone behind a keyword. */
const NAMED = new RegExp(
  `(?:\\$\\{[^{}]*\\}"?|\\border_timeout)\\.${name}|\\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\\s+${name}`,
  'g',
);

/** Where a migration gives a table its name. */
const NAMING = /(?:CREATE (?:TABLE|SEQUENCE) \$\{schema\}\.|ALTER TABLE \$\{schema\}\.\w+ RENAME TO )(\w+)/g;

/** Tables that the SQL in this TypeScript names. */
function tablesIn(code: string): Set<Table> {
  return new Set([...withoutComments(code).matchAll(NAMED)].map(([, first, second]) => (first ?? second) as Table));
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

const codeOf = new Map(files.map((file) => [file, readFileSync(join(source, file), 'utf8')]));
const moduleOf = (file: string): string => file.split('/')[0] ?? '';

describe('a table', () => {
  it('is named by its module alone', () => {
    const violations = [...codeOf].flatMap(([file, code]) =>
      [...tablesIn(code)].filter((table) => OWNERS[table] !== moduleOf(file)).map((table) => `${file}: ${table}`),
    );
    expect(violations).toEqual([]);
  });

  it('is created or renamed by the migrations of its module', () => {
    const created = [...codeOf].flatMap(([file, code]) =>
      [...code.matchAll(NAMING)].map(([, table]) => [table, moduleOf(file)]),
    );
    expect(Object.fromEntries(created)).toEqual(OWNERS);
  });

  it('has a name that is put together only where its module lists it', () => {
    const composed = [...codeOf].filter(([, code]) => /\$\{[^{}]*schema\}\.\$\{/i.test(code)).map(([file]) => file);
    expect(composed.sort()).toEqual(Object.keys(COMPOSED).sort());
  });

  it.each<[string, Table[]]>([
    ['`SELECT 1 FROM ${schema}.outbox`', ['outbox']],
    ['`DELETE FROM ${this.deps.schema}.order_line l USING ${schema}.orders o`', ['order_line', 'orders']],
    ['`INSERT INTO "${schema}"."refund" (number)`', ['refund']],
    ["'SELECT count(*) FROM order_timeout.timeout'", ['timeout']],
    ["'UPDATE inventory SET on_hand = 0'", ['inventory']],
    ['const table = `${options.schema}.reservation`;', ['reservation']],
  ])('is noticed in %s', (code, tables) => {
    expect([...tablesIn(code)]).toEqual(tables);
  });

  it.each([
    ['a comment', '// see `${schema}.outbox`'],
    ['code', 'await this.deps.outbox.append(tx, [event]);'],
    ['the name of an index', '`DROP INDEX ${schema}.timeout_undecided`'],
  ])('is not mistaken for %s', (_, code) => {
    expect([...tablesIn(code)]).toEqual([]);
  });
});
