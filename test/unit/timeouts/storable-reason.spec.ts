import fc from 'fast-check';
import { storableReason } from '../../../src/timeouts/engine/timeout-settler';

describe('the reason of a failure', () => {
  it('is kept as it is when PostgreSQL can hold it', () => {
    expect(storableReason('Konto 7 ist gesperrt 💶')).toBe('Konto 7 ist gesperrt 💶');
  });

  it('loses its NULs', () => {
    expect(storableReason('\0a\0b')).toBe('ab');
  });

  it('is cut, and ends with no half of an emoji', () => {
    expect(storableReason('x'.repeat(1_000_000))).toHaveLength(2_000);
    expect(storableReason(`${'x'.repeat(1_999)}💶`)).toBe(`${'x'.repeat(1_999)}\uFFFD`);
  });

  it('is storable text whatever was thrown', () => {
    // Any 16-bit units: NULs, and halves of emojis without the other half.
    const texts = fc.array(fc.constantFrom(0, 0x41, 0xd83d, 0xdcb6, 0xfffd), { maxLength: 20 });
    fc.assert(
      fc.property(texts, (units) => {
        const stored = storableReason(String.fromCharCode(...units));
        expect(stored).not.toContain('\0');
        expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
      }),
    );
  });
});
