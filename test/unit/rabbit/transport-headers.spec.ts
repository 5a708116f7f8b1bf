import fc from 'fast-check';
import { withoutTransportHeaders } from '../../../src/rabbit/parked';

const brokers = [
  'x-death',
  'x-first-death-exchange',
  'x-first-death-queue',
  'x-first-death-reason',
  'x-last-death-exchange',
  'x-last-death-queue',
  'x-last-death-reason',
  'x-delay',
  'x-delivery-count',
  'x-acquired-count',
  'x-opt-deaths',
];
const others = ['traceparent', 'x-ot-error-code', 'x-delay-reason', 'x-delivery-counter', 'my-x-death', 'X', ''];

describe('a message that is published again', () => {
  it.each(brokers)('loses the header %s', (name) => {
    expect(withoutTransportHeaders({ [name]: 1, traceparent: 'kept' })).toEqual({ traceparent: 'kept' });
  });

  it.each(others)('keeps the header "%s"', (name) => {
    expect(withoutTransportHeaders({ [name]: 'kept' })).toEqual({ [name]: 'kept' });
  });

  it('keeps every other header with its value, and does not change the original', () => {
    const headers = fc.dictionary(fc.constantFrom(...brokers, ...others), fc.jsonValue());
    fc.assert(
      fc.property(headers, (given) => {
        const before = { ...given };
        const kept = withoutTransportHeaders(given);
        expect(given).toEqual(before);
        expect(Object.keys(kept)).toEqual(Object.keys(given).filter((name) => others.includes(name)));
        for (const [name, value] of Object.entries(kept)) expect(value).toBe(given[name]);
      }),
    );
  });
});
