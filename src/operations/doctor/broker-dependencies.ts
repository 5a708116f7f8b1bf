import { type DelayTransportSetting, type LadderOptions } from '../../delay';
import { type RabbitClient } from '../../rabbit';

/** What the examinations of the broker need. */
export interface BrokerDependencies {
  /** Not started: it only opens connections. */
  readonly client: RabbitClient;
  /** Kinds whose wake-ups need a work queue. */
  readonly kinds: readonly string[];
  /** Id of the database; undefined: unknown. */
  readonly databaseId: string | undefined;
  readonly transport: DelayTransportSetting;
  readonly ladder: Pick<LadderOptions, 'base' | 'unitMs'>;
  readonly horizonMs: number;
  /** How long a message may take beyond its delay, milliseconds. */
  readonly probeMs: number;
}
