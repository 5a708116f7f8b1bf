const FRAME_HEADER_BYTES = 7;
const CONTENT_HEADER = 2;
const FRAME_END = 206;
/** Class id, weight and body size stand before the property flags. */
const FLAGS_AT = FRAME_HEADER_BYTES + 12;
const CONTENT_TYPE = 0x8000;
const CONTENT_ENCODING = 0x4000;
const HEADERS = 0x2000;

/**
 * The AMQP content header frame that `bytes` begin with, without its header table and otherwise as it was.
 * Undefined when they begin with anything else, when the frame is not complete, or when it has no header table.
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

/** Skips one short string, a byte of length and so many bytes, for each that is there. */
function endOfShortStrings(bytes: Buffer, at: number, areThere: readonly number[]): number {
  return areThere.reduce((end, isThere) => (isThere ? end + 1 + (bytes[end] ?? 0) : end), at);
}
