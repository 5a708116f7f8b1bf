/** How RabbitMQ says that a body is above its `max_message_size` (3.8 to 4.3), as it closes the channel with 406. */
const ABOVE_SIZE = /message size \d+ is larger than (?:configured )?max size (\d+)/;

/** The broker's limit in bytes when that is what it closed the channel for. */
export function maxMessageSizeIn({ message }: Error): number | undefined {
  const [, bytes] = ABOVE_SIZE.exec(message) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}
