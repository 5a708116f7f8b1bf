import { QueryFailedError } from 'typeorm';
import { judgeCommand } from '../../../src/api/amqp';
import { RequestRejectedError } from '../../../src/api/input';

const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const deadlock = new QueryFailedError('q', [], Object.assign(new Error('deadlock'), { code: '40P01' }));
const bug = new TypeError('x is undefined');
const rejected = new RequestRejectedError('OUT_OF_STOCK', 'not enough of a');

const parked = (code: string, reason: string, rest: object) => ({ type: 'park', park: { code, reason, ...rest } });
const isFault = { isFault: true };
const again = { type: 'again' };
const redeliver = { type: 'redeliver' };

describe('judgeCommand', () => {
  it.each<[string, unknown, number | undefined, boolean, object]>([
    [
      'parks a refused command at once',
      rejected,
      undefined,
      false,
      parked('OUT_OF_STOCK', 'not enough of a', { details: {} }),
    ],
    ['waits for the database forever', away, 99, true, again],
    ['waits for the database forever on a classic queue', away, undefined, true, again],
    ['tries again after a deadlock', deadlock, 99, true, again],
    ['requests redelivery after an unexpected error', bug, undefined, false, redeliver],
    ['requests redelivery after the fourth unexpected error', bug, 4, true, redeliver],
    [
      'parks after the fifth unexpected error',
      bug,
      5,
      true,
      parked('HANDLER_FAILED', 'TypeError: x is undefined', isFault),
    ],
    [
      'parks after one redelivery on a classic queue',
      bug,
      undefined,
      true,
      parked('HANDLER_FAILED', 'TypeError: x is undefined', isFault),
    ],
    ['parks a thrown string too', 'odd', 5, true, parked('HANDLER_FAILED', 'odd', isFault)],
  ])('%s', (_, error, deliveries, redelivered, verdict) => {
    expect(judgeCommand(error, { deliveries, redelivered })).toEqual(verdict);
  });
});
