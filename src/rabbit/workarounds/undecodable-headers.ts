import { type ChannelModel } from 'amqplib';

/** Marks the properties of a message whose headers could not be decoded. */
export const DROPPED_HEADERS = Symbol('order-timeout:dropped-headers');

/**
 * Keeps a message whose headers cannot be decoded from closing the connection: such messages arrive without them, marked
 * with `DROPPED_HEADERS`. amqplib decodes header tables recursively, and a table nested some 5000 levels deep (25 KiB)
 * overflows the stack. The connection closes, the broker delivers the message again, and no other message is processed.
 */
export function dropUndecodableHeaders(model: ChannelModel): void {
  const connection = model.connection as unknown as Partial<FrameReader>;
  if (!isFrameReader(connection)) return;
  const recvFrame = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    const before = connection.rest;
    try {
      return recvFrame();
    } catch (error) {
      const cut = withoutHeaderTable(before);
      if (!cut || connection.rest.length !== before.length - cut.takenBytes) throw error;
      connection.rest = Buffer.concat([cut.frame, connection.rest]);
      return marked(recvFrame());
    }
  };
}

/** The internals of amqplib's connection that this relies on: it removes a frame from `rest` before it decodes it. */
interface FrameReader {
  rest: Buffer;
  recvFrame(): Frame | false;
}

interface Frame {
  readonly fields?: object;
}

function isFrameReader(connection: Partial<FrameReader>): connection is FrameReader {
  return typeof connection.recvFrame === 'function' && Buffer.isBuffer(connection.rest);
}

function marked(frame: Frame | false): Frame | false {
  if (frame && frame.fields) Object.defineProperty(frame.fields, DROPPED_HEADERS, { value: true });
  return frame;
}

const FRAME_HEADER_BYTES = 7;

const CONTENT_HEADER = 2;

const FRAME_END = 206;

/** Class id, weight, and body size come before the property flags. */
const FLAGS_AT = FRAME_HEADER_BYTES + 12;

const CONTENT_TYPE = 0x8000;

const CONTENT_ENCODING = 0x4000;

const HEADERS = 0x2000;

/**
 * Returns the AMQP content header frame at the start of `bytes` without its header table and otherwise unchanged.
 * Undefined if `bytes` begin with anything else, if the frame is incomplete, or if it has no header table.
 */
export function withoutHeaderTable(bytes: Buffer): { readonly frame: Buffer; readonly takenBytes: number } | undefined {
  if (bytes.length < FLAGS_AT + 2 || bytes.readUInt8(0) !== CONTENT_HEADER) return undefined;
  const takenBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(3) + 1;
  if (bytes.length < takenBytes || bytes.readUInt8(takenBytes - 1) !== FRAME_END) return undefined;
  const flags = bytes.readUInt16BE(FLAGS_AT);
  if (!(flags & HEADERS)) return undefined;
  const tableAt = endOfShortStrings(bytes, FLAGS_AT + 2, [flags & CONTENT_TYPE, flags & CONTENT_ENCODING]);
  if (tableAt + 4 >= takenBytes) return undefined;
  const tableEnd = tableAt + 4 + bytes.readUInt32BE(tableAt);
  if (tableEnd >= takenBytes) return undefined;
  const frame = Buffer.concat([bytes.subarray(0, tableAt), bytes.subarray(tableEnd, takenBytes)]);
  frame.writeUInt32BE(frame.length - FRAME_HEADER_BYTES - 1, 3);
  frame.writeUInt16BE(flags & ~HEADERS, FLAGS_AT);
  return { frame, takenBytes };
}

/** Skips the present short strings. Each has one byte of length, then that many bytes. */
function endOfShortStrings(bytes: Buffer, at: number, areThere: readonly number[]): number {
  return areThere.reduce((end, isThere) => (isThere ? end + 1 + (bytes[end] ?? 0) : end), at);
}
