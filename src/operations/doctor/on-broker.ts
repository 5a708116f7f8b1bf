import { BrokerLoginRefusedError, type ChannelModel, type RabbitClient } from '../../rabbit';
import { capitalized, type Notes } from './notes';

/** Undefined: the broker cannot be used, and a finding says why. */
export async function onBroker<T>(
  client: RabbitClient,
  notes: Notes,
  work: (connection: ChannelModel) => Promise<T>,
): Promise<T | undefined> {
  const connection = await client.temporaryConnection().catch((error: unknown) => unreachable(client, error, notes));
  return connection && client.endAfter(connection, () => work(connection));
}

function unreachable({ options, names }: RabbitClient, error: unknown, notes: Notes): undefined {
  const failure = error instanceof Error ? error : new Error(String(error));
  const refusal = BrokerLoginRefusedError.from(failure, options.urls.at(-1), names.prefix);
  if (refusal) {
    const { seen, remedy } = refusal;
    notes.error('broker-login-refused', capitalized(`${seen}.`), capitalized(`${remedy}.`));
  } else {
    const hosts = options.urls.map((url) => new URL(url).host).join(', ');
    const why = failure.message || String((failure as { code?: unknown }).code);
    const remedy =
      'Start it, or correct RABBITMQ_URLS. Until then the sweep handles timeouts (docs/runbook.md, "The message path is down").';
    notes.error('broker-unreachable', `No broker answers at ${hosts} (${why}).`, remedy);
  }
  notes.skip('queues and exchanges', 'no connection to the broker');
}
