import fc from 'fast-check';
import { decodePosition, encodePosition } from '../../../src/orders/model/order-filter';

const id = fc.stringMatching(/^[A-Za-z0-9_:.-]{1,64}$/);
const createdAt = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });

describe('the text of a place in the list of orders', () => {
  it('gives the place back, and is safe in a query', () => {
    fc.assert(
      fc.property(createdAt, id, (at, orderId) => {
        const text = encodePosition({ createdAt: at, id: orderId });
        expect(text).toMatch(/^[\w-]+$/);
        expect(decodePosition(text)).toEqual({ createdAt: at, id: orderId });
      }),
    );
  });

  it('is refused if somebody made it up', () => {
    fc.assert(fc.property(fc.string(), (text) => void decodePosition(text)));
    const made = ['', '1', '1 ', 'x a', '99999999999999999 a', '999999999999999 a', '1 a b', '-1 a'];
    for (const text of made) expect(decodePosition(Buffer.from(text).toString('base64url'))).toBeUndefined();
  });
});
