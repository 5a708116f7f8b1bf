import { withoutHeaderTable } from '../../../src/rabbit/workarounds/undecodable-headers';

const shortString = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
const table = (bytes: string): Buffer => {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
};

/** A content header frame of channel 3 for a body of 9 bytes, with these properties. */
function frameOf(flags: number, ...properties: Buffer[]): Buffer {
  const payload = Buffer.concat([Buffer.from([0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, flags >> 8, flags & 255]), ...properties]); // prettier-ignore
  const head = Buffer.from([2, 0, 3, 0, 0, 0, 0]);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([206])]);
}

const HEADERS = 0x2000;
const TYPE_AND_ENCODING = 0xc000;
const MESSAGE_ID = 0x0080;

describe('a content header frame without its header table', () => {
  it('keeps every other property', () => {
    const before = [shortString('application/json'), shortString('gzip')];
    const after = shortString('m-1');
    const given = frameOf(TYPE_AND_ENCODING | HEADERS | MESSAGE_ID, ...before, table('whatever'), after);
    const rest = Buffer.from('next frame');
    expect(withoutHeaderTable(Buffer.concat([given, rest]))).toEqual({
      frame: frameOf(TYPE_AND_ENCODING | MESSAGE_ID, ...before, after),
      takenBytes: given.length,
    });
  });

  it('is built even if the table comes first and is the only property', () => {
    expect(withoutHeaderTable(frameOf(HEADERS, table('x')))?.frame).toEqual(frameOf(0));
  });

  const whole = frameOf(HEADERS, table('x'));
  const changed = (at: number, byte: number): Buffer => {
    const copy = Buffer.from(whole);
    copy[at] = byte;
    return copy;
  };
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['an incomplete frame', whole.subarray(0, whole.length - 1)],
    ['a frame of another type', changed(0, 1)],
    ['a frame without its end marker', changed(whole.length - 1, 0)],
    ['a header without a table', frameOf(MESSAGE_ID, shortString('m-1'))],
    ['a table that claims to be longer than the frame', changed(24, 200)],
    ['a table whose length is cut off', frameOf(HEADERS, Buffer.from([0, 0]))],
    ['a short string beyond the frame', frameOf(0x8000 | HEADERS, Buffer.from([250]))],
  ])('is not made from %s', (_, bytes) => {
    expect(withoutHeaderTable(bytes)).toBeUndefined();
  });
});
