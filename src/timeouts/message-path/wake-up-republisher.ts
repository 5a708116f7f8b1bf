import { type DataSource, type EntityManager } from 'typeorm';
import { randomUUID } from 'node:crypto';
import { announceAfterCommit, insertWakeUps, UnsentWakeUps } from '../../outbox';
import { ownTransaction, ownQuery } from '../../database';

interface RepublishRequest {
  readonly cause: string;
  /** The rest beyond the horizon too: no wake-ups were written for it, because the transport was `none`. */
  readonly all?: boolean;
  /** Not when the last one was asked for less than so many seconds ago: by another instance, or because a path keeps failing. @default 0 */
  readonly quietS?: number;
}

/** `running`, `too-soon`: nothing new was begun, as the last one was asked for within `quietS`, and has not ended, or has. */
export type RepublicationAnswer = 'requested' | 'running' | 'too-soon';

/** `waiting`: the last page is still in the outbox, or another instance is writing one. */
export type RepublicationStep =
  | { readonly type: 'idle' | 'waiting' | 'page' }
  | { readonly type: 'done'; readonly rows: number; readonly cause: string };

export interface RepublicationProgress {
  readonly isRunning: boolean;
  /** Wake-ups written so far. */
  readonly rows: number;
}

interface Job {
  readonly isRunning: boolean;
  readonly cause: string;
  readonly all: boolean;
  /** Where the next page begins: after this row of this kind. */
  readonly kind: string;
  readonly at: string;
  readonly key: string;
  /** When it was requested. The sweep handles what was due before. */
  readonly since: string;
  /** The same, epoch seconds. */
  readonly sinceS: number;
  readonly rows: number;
}

const PAGE = 5_000;

/**
 * Writes the wake-ups of everything that is pending into the outbox once more, soonest first. One row of the database says how
 * far it has come, and each page is one transaction with it. So any instance goes on where another one stopped, and none
 * does what another has done. The next page waits until the outbox has handed over the last one, and new wake-ups do not queue behind all of it.
 */
export class WakeUpRepublisher {
  private readonly unsent: UnsentWakeUps;

  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: EngineSettings,
    private readonly schema: string,
    private readonly horizonMs: number,
  ) {
    this.unsent = new UnsentWakeUps(schema);
  }

  request(request: RepublishRequest): Promise<RepublicationAnswer> {
    return ownTransaction(this.dataSource, (tx) => this.requestIn(tx, request));
  }

  /** Begins anew in the caller's transaction. */
  async requestIn(tx: EntityManager, request: RepublishRequest): Promise<RepublicationAnswer> {
    const { cause, all = false, quietS = 0 } = request;
    const before = parse(await this.settings.lock(tx, 'republication'));
    const [time] = await tx.query<{ now: string; seconds: number }[]>(
      'SELECT now()::text AS now, extract(epoch FROM now())::float8 AS seconds',
    );
    if (!time) throw new Error('the database does not tell the time');
    if (before && time.seconds - before.sinceS < quietS) return before.isRunning ? 'running' : 'too-soon';
    const isAll = all || (before?.isRunning === true && before.all);
    const begin = { kind: '', at: time.now, key: '', rows: 0 };
    const job: Job = { isRunning: true, cause, all: isAll, since: time.now, sinceS: time.seconds, ...begin };
    await this.settings.write(tx, 'republication', JSON.stringify(job));
    return 'requested';
  }

  async isRunning(): Promise<boolean> {
    return (await this.progress()).isRunning;
  }

  /** How far the last republication has come; 0 rows if there was none. */
  async progress(): Promise<RepublicationProgress> {
    const job = parse((await this.settings.read(this.dataSource, 'republication')) ?? '');
    return { isRunning: job?.isRunning ?? false, rows: job?.rows ?? 0 };
  }

  step(): Promise<RepublicationStep> {
    return ownTransaction(this.dataSource, async (tx): Promise<RepublicationStep> => {
      const value = await this.settings.tryLock(tx, 'republication');
      if (value === undefined) return { type: (await this.isRunning()) ? 'waiting' : 'idle' };
      const job = parse(value);
      if (!job?.isRunning) return { type: 'idle' };
      if ((await this.unsent.countDueSoon(tx, PAGE)) >= PAGE) return { type: 'waiting' };
      const next = await this.publishPage(tx, job);
      await this.settings.write(tx, 'republication', JSON.stringify(next));
      announceAfterCommit(tx, [], ['wake-up']);
      return next.isRunning ? { type: 'page' } : { type: 'done', rows: next.rows, cause: next.cause };
    });
  }

  private async publishPage(tx: EntityManager, job: Job): Promise<Job> {
    if (job.kind === '') return this.atNextKind(tx, job);
    const [last] = await tx.query<{ at: string; key: string; rows: number }[]>(this.pageSql(), [
      job.kind,
      job.at,
      job.key,
      this.horizonMs,
      job.all,
    ]);
    const rows = job.rows + (last?.rows ?? 0);
    return last?.rows === PAGE ? { ...job, at: last.at, key: last.key, rows } : this.atNextKind(tx, { ...job, rows });
  }

  private async atNextKind(tx: EntityManager, job: Job): Promise<Job> {
    const [next] = await tx.query<{ kind: string | null }[]>(
      `SELECT min(kind) AS kind FROM ${this.schema}.timeout WHERE state = 'pending' AND kind > $1`,
      [job.kind],
    );
    return next?.kind ? { ...job, kind: next.kind, at: job.since, key: '' } : { ...job, isRunning: false };
  }

  /** Beyond the horizon the outbox still has the row, unless no wake-ups were written at all. */
  private pageSql(): string {
    return `
      WITH page AS (
        SELECT kind, key, generation, next_attempt_at, traceparent FROM ${this.schema}.timeout
         WHERE kind = $1 AND state = 'pending' AND (next_attempt_at, key) > ($2::timestamptz, $3)
           AND ($5 OR next_attempt_at <= now() + $4 * interval '1 millisecond')
         ORDER BY next_attempt_at, key LIMIT ${PAGE}),
      published AS (
        ${insertWakeUps(this.schema, {
          from: 'page',
          id: 'gen_random_uuid()',
          dueAt: 'next_attempt_at',
          horizonMs: '$4',
        })})
      SELECT next_attempt_at::text AS at, key, (count(*) OVER ())::int AS rows
        FROM page ORDER BY page.next_attempt_at DESC, page.key DESC LIMIT 1`;
  }
}

function parse(value: string): Job | undefined {
  return value === '' ? undefined : (JSON.parse(value) as Job);
}

/**
 * What all instances of this database have to agree on. Earlier releases read and write `delay-transport`, the name of the
 * transport; it is kept up to date for them.
 */
type EngineSetting =
  'message-path' | 'delay-transport' | 'republication' | 'database-id' | 'owned-prefix' | `control:${string}`;

type Connection = DataSource | EntityManager;

/** Rows of the table `engine_setting`, one a setting. */
export class EngineSettings {
  constructor(private readonly schema: string) {}

  async read(on: Connection, name: EngineSetting): Promise<string | undefined> {
    const [row] = await send<{ value: string }[]>(
      on,
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1`,
      [name],
    );
    return row?.value;
  }

  /** Locks the row, making it with an empty value if it is not there. */
  async lock(tx: EntityManager, name: EngineSetting): Promise<string> {
    await tx.query(
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING`,
      [name],
    );
    const [row] = await tx.query<{ value: string }[]>(
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1 FOR UPDATE`,
      [name],
    );
    return row?.value ?? '';
  }

  /** Undefined: there is no such row, or another instance has locked it. */
  async tryLock(tx: EntityManager, name: EngineSetting): Promise<string | undefined> {
    const [row] = await tx.query<{ value: string }[]>(
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1 FOR UPDATE SKIP LOCKED`,
      [name],
    );
    return row?.value;
  }

  async write(on: Connection, name: EngineSetting, value: string): Promise<void> {
    await send(
      on,
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, changed_at = now()`,
      [name, value],
    );
  }

  /** Seconds since it was written; undefined: never. */
  async age(on: DataSource, name: EngineSetting): Promise<number | undefined> {
    const [row] = await send<{ seconds: number }[]>(
      on,
      `SELECT extract(epoch FROM now() - changed_at)::float8 AS seconds FROM ${this.schema}.engine_setting WHERE name = $1`,
      [name],
    );
    return row?.seconds;
  }

  /** Identifies this database; created at the first call. A restored copy has the same id. */
  async databaseId(on: DataSource): Promise<string> {
    await send(
      on,
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ('database-id', $1) ON CONFLICT (name) DO NOTHING`,
      [randomUUID()],
    );
    return (await this.read(on, 'database-id')) ?? '';
  }
}

/** A pool of a host may wait for an answer without any limit. */
function send<T>(on: Connection, sql: string, values: unknown[]): Promise<T> {
  return 'createQueryRunner' in on ? ownQuery(on, sql, values) : on.query<T>(sql, values);
}

/** What the instances of this database have recorded about their message path. */
export interface PathFacts {
  /** Id of this database, which the exchange `<p>.owner` carries too. Undefined: no instance has run. */
  readonly databaseId: string | undefined;
  /** The delay transport in use. Undefined: none was chosen yet. */
  readonly transport: string | undefined;
  /** Where its wake-ups wait, and a slash. Undefined: nothing was handed over yet. */
  readonly path: string | undefined;
}

/** Reads the record without changing it. */
export async function readPathFacts(dataSource: DataSource, schema: string): Promise<PathFacts> {
  const settings = new EngineSettings(schema);
  const read = async (name: 'database-id' | 'delay-transport' | 'message-path'): Promise<string | undefined> =>
    (await settings.read(dataSource, name)) || undefined;
  return {
    databaseId: await read('database-id'),
    transport: await read('delay-transport'),
    path: await read('message-path'),
  };
}
