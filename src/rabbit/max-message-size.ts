/** The text of RabbitMQ 3.8 to 4.3 when it closes a channel with 406 for a body above `max_message_size`. */
const ABOVE_SIZE = /message size \d+ is larger than (?:configured )?max size (\d+)/;

/** The broker's limit in bytes, if that is why it closed the channel. */
export function maxMessageSizeIn({ message }: Error): number | undefined {
  const [, bytes] = ABOVE_SIZE.exec(message) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}
