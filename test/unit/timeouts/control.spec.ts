import { NO_CONTROL, readControl } from '../../../src/timeouts/controls/controls';

const why = { by: 'jane', reason: 'the provider is down', at: '2026-03-01T12:00:00.000Z' };

describe('what an operator has stopped', () => {
  it('is read with who did it, and why', () => {
    const value = JSON.stringify({ pause: why, limit: { ...why, perSecond: 2 } });
    const at = new Date(why.at);
    expect(readControl(value)).toEqual({ pause: { ...why, at }, limit: { ...why, at, perSecond: 2 } });
    expect(readControl(JSON.stringify({ pause: null }))).toEqual(NO_CONTROL);
  });

  it.each(['', 'null', '{', '"x"', '{"pause":true}', '{"limit":{"perSecond":-1}}'])(
    'is nothing if it is %s',
    (value) => {
      expect(readControl(value)).toEqual(NO_CONTROL);
    },
  );
});
