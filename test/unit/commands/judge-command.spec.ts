import { QueryFailedError } from 'typeorm';
import { judgeCommand } from '../../../src/api/amqp';
import { nameOwnSchema } from '../../../src/database';
import { RequestRejectedError } from '../../../src/api/input';

const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const deadlock = new QueryFailedError('q', [], Object.assign(new Error('deadlock'), { code: '40P01' }));
const login = Object.assign(new Error('password authentication failed'), { code: '28P01', severity: 'FATAL' });
const table = (name: string): Error =>
  new QueryFailedError(`INSERT INTO ${name} VALUES (1)`, [], Object.assign(new Error('no table'), { code: '42P01' }));
const bug = new TypeError('x is undefined');
const rejected = new RequestRejectedError('OUT_OF_STOCK', 'not enough of a');

const parked = (code: string, reason: string, rest: object) => ({ type: 'park', park: { code, reason, ...rest } });
const isFault = { isFault: true };
const again = { type: 'again' };
const redeliver = { type: 'redeliver' };

describe('judgeCommand', () => {
  beforeAll(() => nameOwnSchema('order_timeout'));

  it.each<[string, unknown, number, object]>([
    ['parks a refused command at once', rejected, 0, parked('OUT_OF_STOCK', 'not enough of a', { details: {} })],
    ['waits for the database forever', away, 99, again],
    ['waits forever for a database that refuses the login', login, 99, again],
    ['waits forever for our table that is gone', table('order_timeout.orders'), 99, again],
    ['tries again after a deadlock', deadlock, 99, again],
    ['requests redelivery after an unexpected error', bug, 0, redeliver],
    ['requests redelivery after a missing table of somebody else', table('shop.orders'), 0, redeliver],
    ['requests redelivery after one of a schema whose name ends alike', table('my_order_timeout.orders'), 0, redeliver],
    ['requests redelivery after the fifth unexpected error', bug, 4, redeliver],
    ['parks after the sixth', bug, 5, parked('HANDLER_FAILED', 'TypeError: x is undefined', isFault)],
    ['parks a thrown string too', 'odd', 5, parked('HANDLER_FAILED', 'odd', isFault)],
  ])('%s', (_, error, failures, verdict) => {
    expect(judgeCommand(error, failures)).toEqual(verdict);
  });
});
