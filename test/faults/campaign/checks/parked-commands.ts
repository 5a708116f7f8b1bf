import { connect } from 'amqplib';

/** More than any run parks. */
const MOST = 10_000;

interface Parked {
  readonly amqpUrl: string;
  readonly prefix: string;
}

/**
 * What the service has put into the parked queue itself, with its reason, and commands that the broker has put there as they
 * were delivered too often. Wake-ups that found no queue come there, too, and say nothing about the service.
 */
export async function parkedCommands({ amqpUrl, prefix }: Parked): Promise<string[]> {
  const connection = await connect(amqpUrl, { timeout: 5_000 });
  try {
    const channel = await connection.createChannel();
    const found: string[] = [];
    for (let count = 0; count < MOST; count += 1) {
      const message = await channel.get(`${prefix}.parked`, { noAck: true });
      if (!message) break;
      const {
        'x-ot-error-code': code,
        'x-ot-error-reason': reason,
        'x-death': deaths,
      } = message.properties.headers ?? {};
      const [death] = (deaths ?? []) as readonly { readonly queue?: string; readonly reason?: string }[];
      if (code !== undefined) found.push(`${message.fields.routingKey} [${String(code)}]: ${String(reason)}`);
      else if (death?.queue === `${prefix}.commands`) found.push(`${message.fields.routingKey}: ${death.reason}`);
    }
    return found;
  } finally {
    await connection.close();
  }
}
