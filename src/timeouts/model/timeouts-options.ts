import { DataSource } from 'typeorm';
import { z } from 'zod';
import { type DelayTransportSetting, findHorizonProblem, ladderOptions, type LadderOptions } from '../../delay';
import {
  assertOptionsObject,
  integer,
  InvalidOptionsError,
  oneOf,
  optionsOf,
  present,
  readOptions,
} from '../../errors';
import { type RabbitOptions, rabbitOptions, resolveRabbitOptions, type ResolvedRabbitOptions } from '../../rabbit';
import {
  type DatabaseOptions,
  nameOwnSchema,
  connectionOptions,
  databaseOptions,
  retryWhileUnavailable,
  schemaName,
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

export const TRANSPORTS = [
  'auto',
  'delayed-exchange',
  'ladder',
  'none',
] as const satisfies readonly DelayTransportSetting[];

const DAY_MS = 86_400_000;

const ms = (min: number, max: number): z.ZodType<number, number> => integer(min, max, ' milliseconds');

const sweepOptions = optionsOf({
  intervalMs: ms(100, DAY_MS).default(2_000),
  marginMs: ms(0, DAY_MS).default(3_000),
  budgetMs: ms(100, DAY_MS).default(20_000),
} satisfies Record<keyof SweepOptions, z.ZodType>);

const NO_DATA_SOURCE =
  'must be a TypeORM DataSource of type "postgres"; without one, give database the URL of the server';

export const timeoutsOptions = optionsOf({
  dataSource: z.custom<DataSource>(isOfPostgres, NO_DATA_SOURCE).optional(),
  database: databaseOptions.optional(),
  rabbit: rabbitOptions
    .extend({ urls: rabbitOptions.shape.urls.min(1, 'must name at least one amqp:// or amqps:// URL') })
    .optional(),
  schema: schemaName.default('order_timeout'),
  transport: oneOf(TRANSPORTS).default('auto'),
  ladder: ladderOptions.prefault({}),
  // The plugin takes at most 49.7 days; a horizon above 30 would bring its limits back.
  horizonMs: ms(1_000, 30 * DAY_MS).default(DAY_MS),
  sweep: sweepOptions.prefault({}),
  consume: z.boolean('must be true or false').default(true),
  shutdownTimeoutMs: ms(0, 600_000).default(10_000),
} satisfies Record<Exclude<keyof TimeoutsOptions, symbol>, z.ZodType>);

/** @throws InvalidOptionsError naming every bad option. */
export function resolveTimeoutsOptions(options: TimeoutsOptions): ResolvedTimeoutsOptions {
  assertOptionsObject('TimeoutsModule', options);
  const { data, problems } = readOptions(timeoutsOptions, asUsed(options), ['isGlobal']);
  const all = [...problems, ...findConflicts(options)];
  if (!data || all.length > 0) throw new InvalidOptionsError('TimeoutsModule', all);
  nameOwnSchema(data.schema);
  const isDrivenByTests = options[DRIVEN_BY_TESTS] ?? false;
  const hasBroker = data.rabbit !== undefined;
  return Object.freeze({
    ...data,
    ...connectionOf(data),
    rabbit: data.rabbit ?? resolveRabbitOptions({ urls: [] }),
    hasBroker,
    hasOutboxReader: hasBroker || isDrivenByTests,
    transport: hasBroker ? data.transport : 'none',
    // Nothing but our tables is created through a connection of our own.
    ownsDatabase: options[OWNS_DATABASE] ?? data.database !== undefined,
    isDrivenByTests,
    isDormant: options[DORMANT] ?? false,
  });
}

/** The options without a broker that is not used. */
export function asUsed(options: TimeoutsOptions): TimeoutsOptions {
  return { ...options, rabbit: (!options[DRIVEN_BY_TESTS] && options.rabbit) || undefined };
}

/** What is wrong with options together, however wrong each of them is. */
export function findConflicts(options: TimeoutsOptions): string[] {
  const { dataSource, database, rabbit, transport, horizonMs = DAY_MS, ladder } = options;
  const horizon = findHorizonProblem(horizonMs, ladder?.unitMs ?? 0);
  const needsBroker = transport === 'ladder' || transport === 'delayed-exchange';
  return [
    ...(dataSource && database !== undefined ? ['give either dataSource or database, not both'] : []),
    ...(dataSource === undefined && database === undefined ? [`dataSource ${NO_DATA_SOURCE}`] : []),
    ...(horizon === undefined ? [] : [`horizonMs ${horizon}`]),
    ...(needsBroker && !rabbit
      ? [`transport "${transport}" needs a broker: set rabbit.urls, or leave transport out to run on PostgreSQL alone`]
      : []),
  ];
}

function isOfPostgres(given: unknown): boolean {
  return (given as Partial<DataSource> | null)?.options?.type === 'postgres';
}

/** A DataSource, and whether the module connects and ends it. */
interface Connection {
  readonly dataSource: DataSource;
  readonly ownsConnection: boolean;
}

/** Not connected yet. */
function connectionOf({ dataSource, database }: z.output<typeof timeoutsOptions>): Connection {
  if (dataSource) return { dataSource, ownsConnection: false };
  const own = connectionOptions(present(database, 'the database'));
  return { dataSource: new DataSource(own), ownsConnection: true };
}

/** Connects a DataSource of our own. It waits half a minute for a server that is not there yet. */
export async function openConnection({ dataSource, ownsConnection }: Connection, clock: Clock): Promise<void> {
  if (ownsConnection) await retryWhileUnavailable(clock, () => dataSource.initialize());
}

/** Ends a DataSource of our own. */
export async function endConnection({ dataSource, ownsConnection }: Connection): Promise<void> {
  if (ownsConnection && dataSource.isInitialized) await dataSource.destroy();
}
