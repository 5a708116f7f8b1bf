import { QueryFailedError } from 'typeorm/error/QueryFailedError';
import {
  isContention,
  isDatabaseUnavailable,
  isRetryableConflict,
  isSchemaUnusable,
  isTriggerBroken,
  nameOwnSchema,
} from '../../../src/database/database-errors';

const coded = (code: string, message = 'something happened') => Object.assign(new Error(message), { code });
/** As TypeORM wraps what the driver throws. */
const query = (driverError: Error) => new QueryFailedError('SELECT 1', [], driverError);
const named = (name: string) => Object.assign(new Error('released'), { name });
const causedBy = (cause: unknown) => new Error('settling failed', { cause });
const endless: Error & { cause?: unknown } = new Error('round and round');
endless.cause = endless;

type Case = [string, unknown];

const unavailable: Case[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].map(
    (code): Case => [code, coded(code)],
  ),
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE', 'ENOBUFS'].map(
    (code): Case => [code, coded(code)],
  ),
  ['08006 connection_failure', query(coded('08006'))],
  ['53300 too_many_connections', query(coded('53300'))],
  ['53100 disk_full', query(coded('53100'))],
  ['57P01 admin_shutdown', query(coded('57P01'))],
  ['57P03 cannot_connect_now', coded('57P03')],
  ['58030 io_error', query(coded('58030'))],
  ['XX000 internal_error', query(coded('XX000'))],
  ['XX001 data_corrupted', query(coded('XX001'))],
  ['XX002 index_corrupted', query(coded('XX002'))],
  ['no transaction id', query(Object.assign(coded('54000', '…'), { routine: 'GetNewTransactionId' }))],
  ['no id, by a proxy that keeps the text only', query(coded('54000', 'database is not accepting commands to avoid'))],
  ['the end of the connection', new Error('Connection terminated unexpectedly')],
  ['the end of the connection in a query', query(new Error('Connection terminated unexpectedly'))],
  ['a full pool', new Error('timeout exceeded when trying to connect')],
  ['a dead client', new Error('Client has encountered a connection error and is not queryable')],
  ['a pool that has ended', new Error('Cannot use a pool after calling end on the pool')],
  ['a released query runner', named('QueryRunnerAlreadyReleasedError')],
  ['a released provider', named('QueryRunnerProviderAlreadyReleasedError')],
  ['what was caused by one of them', causedBy(query(coded('57P01')))],
];

const here: Case[] = [
  ['23505 unique_violation', query(coded('23505'))],
  ['23503 foreign_key_violation', query(coded('23503'))],
  ['54000 program_limit_exceeded', query(coded('54000', 'index row size 2712 exceeds maximum'))],
  ['22P02 invalid_text_representation', query(coded('22P02'))],
  ['42P01 undefined_table', query(coded('42P01'))],
  ['57014 query_canceled', query(coded('57014'))],
  ['40P01 deadlock_detected', query(coded('40P01'))],
  ['a coded error with a telling message', query(coded('P0001', 'Connection terminated unexpectedly'))],
  ['an error of the package', coded('ORDER_TIMEOUT/INVALID_TIMEOUT')],
  ['a plain error', new Error('cannot read properties of undefined')],
  ['a text', 'Connection terminated unexpectedly'],
  ['nothing', undefined],
  ['null', null],
  ['an error that causes itself', endless],
];

describe('the database', () => {
  it.each(unavailable)('is unavailable on %s', (_, error) => expect(isDatabaseUnavailable(error)).toBe(true));
  it.each(here)('is not unavailable on %s', (_, error) => expect(isDatabaseUnavailable(error)).toBe(false));
});

describe('our schema', () => {
  beforeAll(() => nameOwnSchema('ours'));
  const about = (table: string, code: string) => new QueryFailedError(`INSERT INTO ${table}`, [], coded(code));

  it.each([
    ['42501 insufficient_privilege', '42501'],
    ['42P01 undefined_table', '42P01'],
    ['42703 undefined_column', '42703'],
    ['3F000 invalid_schema_name', '3F000'],
    ['42P10 invalid_column_reference: ON CONFLICT finds no unique index', '42P10'],
    ['42883 undefined_function', '42883'],
    ['42704 undefined_object', '42704'],
  ])('is unusable on %s, and no other is', (_, code) => {
    expect(isSchemaUnusable(about('ours.orders', code))).toBe(true);
    expect(isDatabaseUnavailable(about('ours.orders', code))).toBe(true);
    expect(isSchemaUnusable(about('theirs.orders', code))).toBe(false);
    expect(isDatabaseUnavailable(about('theirs.orders', code))).toBe(false);
  });

  it.each([
    [
      ...(['breaks a constraint of what it writes', true, '23514'] as const),
      'SQL statement "INSERT INTO audit.log VALUES (now())"\nPL/pgSQL function audit.write() line 3 at SQL statement',
    ],
    [
      ...(['copies our row to a table that lacks a column of it', true, '42601'] as const),
      'PL/pgSQL function audit.write() line 3 at SQL statement',
    ],
    ['counts beyond its column', true, '22003', 'PL/pgSQL function audit.write() line 3 at SQL statement'],
    ['finds two rows where one was', true, '21000', 'PL/pgSQL function audit.write() line 3 at assignment'],
    ['has no numbers left', true, '2200H', 'PL/pgSQL function audit.write() line 3 at SQL statement'],
    ['refuses the row, and says so in Chinese', false, '23514', '在RAISE的第3行的PL/pgSQL函数f()'],
    ['cannot read a value of the row', false, '22P02', 'PL/pgSQL function f() line 3 at assignment'],
    ['refuses the row in Python', false, '38000', 'PL/Python function "f"'],
    ['waits for a lock', false, '55P03', 'PL/pgSQL function audit.write() line 3 at SQL statement'],
    ['is not there: the row breaks a constraint', false, '23514', undefined],
    ['refuses the row', false, 'P0001', 'PL/pgSQL function audit.check() line 3 at RAISE'],
    ['refuses the row, and says that it breaks a constraint', false, '23514', 'PL/pgSQL function f() line 3 at RAISE'],
  ])('has a broken trigger, or none, if the trigger %s', (_, isBroken, code, where) => {
    const from = (text: string) => new QueryFailedError(text, [], Object.assign(coded(code), { where }));
    expect(isTriggerBroken(from('INSERT INTO ours.orders'))).toBe(isBroken);
    expect(isTriggerBroken(from('SAVEPOINT order_timeout_commits; COMMIT'))).toBe(isBroken);
    expect(isTriggerBroken(from('INSERT INTO theirs.orders'))).toBe(false);
    expect(isDatabaseUnavailable(from('INSERT INTO ours.orders'))).toBe(false);
  });
});

describe('a transaction', () => {
  it.each([
    ['40001 serialization_failure', query(coded('40001'))],
    ['40P01 deadlock_detected', query(coded('40P01'))],
    ['what was caused by one of them', causedBy(query(coded('40001')))],
  ])('is run again on %s', (_, error) => expect(isRetryableConflict(error)).toBe(true));

  it.each<Case>([
    ['23505 unique_violation', query(coded('23505'))],
    ['55P03 lock_not_available', query(coded('55P03'))],
    ['57014 query_canceled', query(coded('57014'))],
    ['57P01 admin_shutdown', query(coded('57P01'))],
    ['ECONNREFUSED', coded('ECONNREFUSED')],
    ['a plain error', new Error('40001')],
    ['an error that causes itself', endless],
  ])('is not run again on %s', (_, error) => expect(isRetryableConflict(error)).toBe(false));
});

describe('contention', () => {
  it.each([
    ['40001 serialization_failure', query(coded('40001'))],
    ['40P01 deadlock_detected', query(coded('40P01'))],
    ['55P03 lock_not_available', query(coded('55P03'))],
    ['57014 query_canceled', query(coded('57014'))],
    ['25P03 idle_in_transaction_session_timeout', coded('25P03')],
    ['what was caused by one of them', causedBy(query(coded('57014')))],
  ])('is nobody’s fault: %s', (_, error) => expect(isContention(error)).toBe(true));

  it.each<Case>([
    ['23505 unique_violation', query(coded('23505'))],
    ['57P01 admin_shutdown', query(coded('57P01'))],
    ['a plain error', new Error('55P03')],
    ['nothing', undefined],
  ])('is not: %s', (_, error) => expect(isContention(error)).toBe(false));
});
