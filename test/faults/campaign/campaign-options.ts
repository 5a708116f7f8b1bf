import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './faults/fault-kind';

export const TRANSPORTS = ['ladder', 'delayed-exchange', 'none'] as const;
export type CampaignTransport = (typeof TRANSPORTS)[number];
const QUEUE_TYPES = ['quorum', 'classic'] as const;
export type QueueType = (typeof QUEUE_TYPES)[number];

/** How one campaign is run. */
export interface CampaignOptions {
  readonly transport: CampaignTransport;
  /** Of every queue of the service. */
  readonly queueType: QueueType;
  readonly orders: number;
  readonly faults: number;
  readonly seed: number;
  readonly instances: number;
  /** Orders per second. */
  readonly rate: number;
  /** Name of the safety that is disabled, `all` for each in turn, or undefined. */
  readonly safety: string | undefined;
  /** The broker is never started. */
  readonly isBrokerDead: boolean;
  /** Keeps the run's folder with the logs of all processes. */
  readonly keepsLogs: boolean;
  /** Only these kinds of faults. */
  readonly only: readonly FaultKind[] | undefined;
  /** Faults begin at even distances, so that each can be looked at by itself. */
  readonly areApart: boolean;
  /** The instances connect through PgBouncer in transaction mode. */
  readonly usesPgbouncer: boolean;
  /** The instances' pool has none of the limits that the service sets, as in a host that sets none. */
  readonly hasBarePool: boolean;
}

export const USAGE = `npm run suite -- faults [OPTIONS]
  --transport T    ladder (default), delayed-exchange, none
  --queue-type T   quorum (default), classic
  --orders N       20000, and more until the last fault is over
  --faults N       300, spread over the time that N orders take
  --rate N         orders per second: 36, which two cores bear
  --instances N    processes of the service: 2
  --seed N         repeats a run
  --safety NAME    disables one safety, and passes when the harness notices; "all": one after the other
  --only KINDS     faults of these kinds only, separated by commas
  --apart          faults begin at even distances
  --pgbouncer      the instances connect through PgBouncer in transaction mode; without a standby
  --bare-pool      the instances' pool sets no limits at all, as in a host whose DataSource has none
  --broker-dead    without faults; the broker is unavailable from before the start to the end
  --keep-logs      keeps the folder with the logs
`;

/** @throws TypeError naming what is wrong. */
export function parseOptions(args: readonly string[], randomSeed: number): CampaignOptions {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    ...{
      transport: text,
      'queue-type': text,
      orders: text,
      faults: text,
      rate: text,
      instances: text,
      seed: text,
      safety: text,
      only: text,
    },
    ...{ 'broker-dead': flag, 'keep-logs': flag, apart: flag, pgbouncer: flag, 'bare-pool': flag },
  };
  const { values } = parseArgs({ args: [...args], options });
  const transport = TRANSPORTS.find((name) => name === (values.transport ?? 'ladder'));
  const queueType = QUEUE_TYPES.find((name) => name === (values['queue-type'] ?? 'quorum'));
  if (!queueType) throw new TypeError(`--queue-type must be one of ${QUEUE_TYPES.join(', ')}`);
  if (!transport) throw new TypeError(`--transport must be one of ${TRANSPORTS.join(', ')}`);
  const isBrokerDead = values['broker-dead'] ?? false;
  return {
    transport,
    queueType,
    isBrokerDead,
    orders: whole('orders', values.orders, defaultOrders(values.safety, isBrokerDead), 1),
    faults: isBrokerDead ? 0 : whole('faults', values.faults, 300, 0),
    rate: whole('rate', values.rate, 36, 1),
    instances: whole('instances', values.instances, 2, 1),
    seed: whole('seed', values.seed, randomSeed, 0),
    safety: values.safety,
    keepsLogs: values['keep-logs'] ?? false,
    areApart: values.apart ?? false,
    usesPgbouncer: values.pgbouncer ?? false,
    hasBarePool: values['bare-pool'] ?? false,
    only: values.only?.split(',').map(kindNamed),
  };
}

function kindNamed(name: string): FaultKind {
  const kind = FAULT_KINDS.find((one) => one === name);
  if (!kind) throw new TypeError(`--only takes ${FAULT_KINDS.join(', ')}`);
  return kind;
}

/** A safety's absence shows soon. */
function defaultOrders(safety: string | undefined, isBrokerDead: boolean): number {
  if (safety !== undefined) return 1_200;
  return isBrokerDead ? 3_000 : 20_000;
}

function whole(name: string, given: string | undefined, otherwise: number, min: number): number {
  const value = given === undefined ? otherwise : Number(given);
  if (!Number.isSafeInteger(value) || value < min) throw new TypeError(`--${name} must be an integer from ${min}`);
  return value;
}
