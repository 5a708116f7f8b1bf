import { type ChannelModel, type Message } from 'amqplib';
import { withoutHeaderTable } from './without-header-table';

/** The internals of amqplib's connection that this relies on: it removes a frame from `rest` before it decodes it. */
interface FrameReader {
  rest: Buffer;
  recvFrame(): Frame | false;
}

interface Frame {
  readonly fields?: object;
}

const bare = new WeakSet<object>();

/**
 * Keeps a message whose headers cannot be decoded from closing the connection. amqplib decodes header tables
 * recursively, and a table nested some 5000 levels deep (25 KiB) overflows the stack. The connection closes, the broker
 * delivers the message again, and no other message is processed.
 */
export const undecodableHeaders = {
  /** From now on, such messages arrive without their headers. */
  install(model: ChannelModel): void {
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
  },

  /** The message had headers that could not be decoded. */
  hasDropped({ properties }: Message): boolean {
    return bare.has(properties);
  },
};

function isFrameReader(connection: Partial<FrameReader>): connection is FrameReader {
  return typeof connection.recvFrame === 'function' && Buffer.isBuffer(connection.rest);
}

function marked(frame: Frame | false): Frame | false {
  if (frame && frame.fields) bare.add(frame.fields);
  return frame;
}
