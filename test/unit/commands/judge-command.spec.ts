import { QueryFailedError } from 'typeorm';
import { judgeCommand } from '../../../src/api/amqp';
import { RequestRejectedError } from '../../../src/api/input';

const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const deadlock = new QueryFailedError('q', [], Object.assign(new Error('deadlock'), { code: '40P01' }));
const bug = new TypeError('x is undefined');
const rejected = new RequestRejectedError('OUT_OF_STOCK', 'not enough of a');

const parked = (code: string, reason: string) => ({ type: 'park', park: { code, reason } });
const again = { type: 'again' };
const redeliver = { type: 'redeliver' };

describe('judging a failed command', () => {
  it.each<[string, unknown, number | undefined, boolean, object]>([
    ['parks what is refused at once', rejected, undefined, false, parked('OUT_OF_STOCK', 'not enough of a')],
    ['waits for the database for ever', away, 99, true, again],
    ['waits for the database for ever on a classic queue', away, undefined, true, again],
    ['repeats after a deadlock', deadlock, 99, true, again],
    ['repeats an unexpected fault', bug, undefined, false, redeliver],
    ['repeats an unexpected fault four times', bug, 4, true, redeliver],
    ['parks after the fifth', bug, 5, true, parked('HANDLER_FAILED', 'TypeError: x is undefined')],
    [
      'parks after one repetition where nobody counts',
      bug,
      undefined,
      true,
      parked('HANDLER_FAILED', 'TypeError: x is undefined'),
    ],
    ['parks a thrown string too', 'odd', 5, true, parked('HANDLER_FAILED', 'odd')],
  ])('%s', (_, error, deliveries, redelivered, verdict) => {
    expect(judgeCommand(error, { deliveries, redelivered })).toEqual(verdict);
  });
});
