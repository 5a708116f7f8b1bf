import { DataSource } from 'typeorm';
import { type DelayTransportSetting, findLadderProblems, type LadderOptions } from '../../delay';
import {
  assertOptionsObject,
  findOptionNameProblems,
  findRangeProblems,
  findUnknownOptions,
  InvalidOptionsError,
  withoutUndefined,
} from '../../errors';
import { findRabbitProblems, type RabbitOptions, resolveRabbitOptions, type ResolvedRabbitOptions } from '../../rabbit';
import {
  type DatabaseOptions,
  findSchemaNameProblems,
  nameOwnSchema,
  connectionOptions,
  findDatabaseProblems,
  resolveDatabaseOptions,
  retryWhileUnavailable,
} from '../../database';
import { type Clock } from '../../clock';

/** The safety net that looks for overdue timeouts in the database. */
export interface SweepOptions {
  /** A timeout whose wake-up is lost is late by up to this and the margin, milliseconds. An empty run costs about ten statements of less than 1 ms. @default 2000 */
  readonly intervalMs?: number;
  /** How long the normal path has the first go at a due timeout, milliseconds. @default 3000 */
  readonly marginMs?: number;
  /** The longest that one run goes on to the next page, milliseconds. @default 20000 */
  readonly budgetMs?: number;
}

export type ResolvedSweepOptions = Required<SweepOptions>;

/**
 * For the service, not for hosts: nothing but our tables is ever created through its DataSource, so a user who is called
 * like our schema, as those of earlier releases were, does no harm.
 */
export const OWNS_DATABASE = Symbol('order-timeout:owns-database');

/**
 * For the test kit, not for hosts: nothing runs by itself, and no broker is used. The kit calls `TimeoutEngine.runDue`, and
 * reads the events from the outbox.
 */
export const DRIVEN_BY_TESTS = Symbol('order-timeout:driven-by-tests');

/**
 * For the command line, not for hosts: the engine does not start, so nothing is consumed, relayed, declared, or swept by
 * itself. What is written goes out through the processes that run.
 */
export const DORMANT = Symbol('order-timeout:dormant');

/** Options of TimeoutsModule. */
export interface TimeoutsOptions {
  /** The host's initialized PostgreSQL DataSource. Give this or `database`. */
  readonly dataSource?: DataSource | undefined;
  /** The URL of the PostgreSQL server, for a connection pool of the module's own. Give this or `dataSource`. */
  readonly database?: string | DatabaseOptions | undefined;
  /**
   * How to reach the broker. Absent: PostgreSQL alone triggers all timeouts. All processes of a database must agree on
   * it.
   */
  readonly rabbit?: RabbitOptions | undefined;
  /** PostgreSQL schema of our tables. @default 'order_timeout' */
  readonly schema?: string;
  /**
   * How timeouts wait: `auto` uses the delayed-message plugin where the broker has it, else the ladder.
   * @default 'auto', or 'none' without a broker
   */
  readonly transport?: DelayTransportSetting;
  /** How finely the ladder's delay queues divide time. */
  readonly ladder?: Pick<LadderOptions, 'base' | 'unitMs'>;
  /** Only what is due within this time is handed to the broker; the rest waits in PostgreSQL. @default 86400000 */
  readonly horizonMs?: number;
  /** The safety net that looks for overdue timeouts in the database. */
  readonly sweep?: SweepOptions;
  /** False in a process that only schedules: no handler runs here. @default true */
  readonly consume?: boolean;
  /** How long the whole shutdown may take, milliseconds: work in progress and last messages. @default 10000 */
  readonly shutdownTimeoutMs?: number;
  /** @internal */
  readonly [OWNS_DATABASE]?: true;
  /** @internal */
  readonly [DRIVEN_BY_TESTS]?: true;
  /** @internal */
  readonly [DORMANT]?: true;
}

export interface ResolvedTimeoutsOptions extends Connection {
  /** Without URLs if there is no broker. */
  readonly rabbit: ResolvedRabbitOptions;
  readonly hasBroker: boolean;
  /** Whether the rows of the outbox are taken by anybody: the broker, or the test kit. */
  readonly hasOutboxReader: boolean;
  readonly schema: string;
  readonly transport: DelayTransportSetting;
  readonly ladder: Pick<LadderOptions, 'base' | 'unitMs'>;
  readonly horizonMs: number;
  readonly sweep: ResolvedSweepOptions;
  readonly consume: boolean;
  readonly shutdownTimeoutMs: number;
  readonly ownsDatabase: boolean;
  readonly isDrivenByTests: boolean;
  readonly isDormant: boolean;
}

export const TIMEOUTS_OPTIONS: readonly string[] = Object.keys({
  dataSource: true,
  database: true,
  rabbit: true,
  schema: true,
  transport: true,
  ladder: true,
  horizonMs: true,
  sweep: true,
  consume: true,
  shutdownTimeoutMs: true,
} satisfies Record<Exclude<keyof TimeoutsOptions, symbol>, true>);

const LADDER_OPTIONS = Object.keys({ base: true, unitMs: true } satisfies Record<
  keyof NonNullable<TimeoutsOptions['ladder']>,
  true
>);

const SWEEP_DEFAULTS: ResolvedSweepOptions = { intervalMs: 2_000, marginMs: 3_000, budgetMs: 20_000 };

const TRANSPORTS: readonly DelayTransportSetting[] = ['auto', 'delayed-exchange', 'ladder', 'none'];

const DAY_MS = 86_400_000;

/** The plugin takes at most 49.7 days; a horizon above 30 would bring its limits back. */
const MAX_HORIZON_MS = 30 * DAY_MS;

/** @throws InvalidOptionsError naming every bad option. */
export function resolveTimeoutsOptions(options: TimeoutsOptions): ResolvedTimeoutsOptions {
  assertOptionsObject('TimeoutsModule', options);
  const { dataSource, database, ...others } = options;
  const hasBroker = !options[DRIVEN_BY_TESTS] && Boolean(options.rabbit);
  const resolved: Omit<ResolvedTimeoutsOptions, keyof Connection> = {
    schema: 'order_timeout',
    ladder: {},
    horizonMs: DAY_MS,
    consume: true,
    shutdownTimeoutMs: 10_000,
    ...withoutUndefined(others),
    // Nothing but our tables is created through a connection of our own.
    ownsDatabase: options[OWNS_DATABASE] ?? database !== undefined,
    isDrivenByTests: options[DRIVEN_BY_TESTS] ?? false,
    isDormant: options[DORMANT] ?? false,
    hasBroker,
    hasOutboxReader: hasBroker || options[DRIVEN_BY_TESTS] === true,
    transport: hasBroker ? (options.transport ?? 'auto') : 'none',
    rabbit: resolveRabbitOptions((hasBroker && options.rabbit) || { urls: [] }),
    sweep: { ...SWEEP_DEFAULTS, ...withoutUndefined(options.sweep ?? {}) },
  };
  const problems = [
    ...findOptionNameProblems(options, TIMEOUTS_OPTIONS, ['isGlobal']),
    ...findConnectionProblems({ dataSource, database }),
    ...problemsOf(resolved),
    ...(hasBroker ? findRabbitProblems(resolved.rabbit) : []),
    ...findTransportProblems(options),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('TimeoutsModule', problems);
  nameOwnSchema(resolved.schema);
  return Object.freeze({ ...resolved, ...connectionOf({ dataSource, database }) });
}

function findTransportProblems({ transport = 'auto', rabbit }: TimeoutsOptions): string[] {
  if (!TRANSPORTS.includes(transport)) return [`transport must be one of ${TRANSPORTS.join(', ')} (got ${transport})`];
  if (rabbit || transport === 'none' || transport === 'auto') return [];
  return [
    `transport "${transport}" needs a broker: set rabbit.urls, or leave transport out to run on PostgreSQL alone`,
  ];
}

function problemsOf(options: Omit<ResolvedTimeoutsOptions, keyof Connection>): string[] {
  const { schema, horizonMs, sweep, shutdownTimeoutMs } = options;
  const problems = findLadderProblems({ ...options.ladder, horizonMs }).map((problem) => `ladder: ${problem}`);
  problems.push(...findUnknownOptions(options.ladder, LADDER_OPTIONS, 'ladder.'));
  problems.push(...findUnknownOptions(sweep, Object.keys(SWEEP_DEFAULTS), 'sweep.'));
  const within = (name: string, value: number, min: number, max: number): void =>
    void problems.push(...findRangeProblems(name, value, [min, max], ' milliseconds'));
  problems.push(...findSchemaNameProblems(schema));
  within('horizonMs', horizonMs, 1_000, MAX_HORIZON_MS);
  within('sweep.intervalMs', sweep.intervalMs, 100, DAY_MS);
  within('sweep.marginMs', sweep.marginMs, 0, DAY_MS);
  within('sweep.budgetMs', sweep.budgetMs, 100, DAY_MS);
  within('shutdownTimeoutMs', shutdownTimeoutMs, 0, 600_000);
  return problems;
}

type ConnectionChoice = Pick<TimeoutsOptions, 'dataSource' | 'database'>;

/** A DataSource, and whether the module connects and ends it. */
interface Connection {
  readonly dataSource: DataSource;
  readonly ownsConnection: boolean;
}

export function findConnectionProblems({ dataSource, database }: ConnectionChoice): string[] {
  if (dataSource !== undefined && database !== undefined) return ['give either dataSource or database, not both'];
  if (database !== undefined) return findDatabaseProblems(resolveDatabaseOptions(database));
  if (dataSource?.options.type === 'postgres') return [];
  return [
    'dataSource must be a TypeORM DataSource of type "postgres"; without one, give database the URL of the server',
  ];
}

/** A choice without problems, not connected yet. */
export function connectionOf({ dataSource, database }: ConnectionChoice): Connection {
  if (dataSource) return { dataSource, ownsConnection: false };
  const own = new DataSource(connectionOptions(resolveDatabaseOptions(database ?? '')));
  return { dataSource: own, ownsConnection: true };
}

/** Connects a DataSource of our own. It waits half a minute for a server that is not there yet. */
export async function openConnection({ dataSource, ownsConnection }: Connection, clock: Clock): Promise<void> {
  if (ownsConnection) await retryWhileUnavailable(clock, () => dataSource.initialize());
}

/** Ends a DataSource of our own. */
export async function endConnection({ dataSource, ownsConnection }: Connection): Promise<void> {
  if (ownsConnection && dataSource.isInitialized) await dataSource.destroy();
}
