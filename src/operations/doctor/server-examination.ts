import { type DataSource } from 'typeorm';
import { SystemClock } from '../../clock';
import { APPLICATION, onOwnConnection, ownQuery, STATEMENT_MS, UNREPLICATED, writableServers } from '../../database';
import { type DoctorLimits, noteRelease, type Notes } from './notes';

interface ServerDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly poolSize: number;
  readonly prepares: boolean;
  readonly limits: DoctorLimits;
  /** The host's time, epoch milliseconds. */
  now(this: void): number;
}

/** Those that harm us. transaction_timeout is there since PostgreSQL 17, and pg_settings has milliseconds. */
const SETTINGS = `
  SELECT name, current_setting(name) AS shown, source, quote_ident(current_user) AS user,
         quote_ident(current_database()) AS database
    FROM pg_settings
   WHERE name IN ('statement_timeout', 'transaction_timeout') AND setting::int BETWEEN 1 AND $1 - 1
      OR name = 'synchronous_commit' AND (setting = 'off'
         OR setting = 'local' AND current_setting('synchronous_standby_names') <> '')`;
/** What loses commits with this value of `synchronous_commit`. */
const ENDS: Readonly<Record<string, string>> = { off: 'a crash of the database', local: 'a failover to the standby' };
const READ_ONLY = `
  SELECT pg_is_in_recovery() AS "isStandby", setting = 'on' AS "isSetting", source, sourcefile AS file,
         quote_ident(current_user) AS user, quote_ident(current_database()) AS database
    FROM pg_settings WHERE name = 'default_transaction_read_only'`;
const SESSIONS = `
  SELECT pid, usename AS "user", application_name AS application, state,
         extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
    FROM pg_stat_activity
   WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'
     AND wait_event_type IS DISTINCT FROM 'Lock' AND wait_event IS DISTINCT FROM 'SyncRep'
   ORDER BY xact_start LIMIT 1`;
/** Its locks have no session. `locks`: it keeps others from rows or tables of ours. */
const PREPARED = `
  SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::float8 AS seconds, EXISTS (
           SELECT FROM pg_locks t JOIN pg_locks l ON l.virtualtransaction = t.virtualtransaction AND l.pid IS NULL
             JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE t.transactionid = p.transaction AND t.pid IS NULL AND n.nspname = $1 AND l.mode <> 'AccessShareLock') AS locks
    FROM pg_prepared_xacts p WHERE database = current_database() ORDER BY locks DESC, prepared LIMIT 1`;
/** Whoever prepares a transaction commits it in milliseconds. Seconds. */
const PREPARED_S = 5;
const STANDBY = `
  SELECT count(*)::int AS commits, current_setting('synchronous_standby_names') AS names,
         extract(epoch FROM clock_timestamp() - min(query_start))::float8 AS seconds FROM ${UNREPLICATED}`;
/** What the role must have to see the sessions of other users. */
const SEES_ALL = `SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS sees`;
/** Of the server, the user, and the database: that which leaves the least. */
const CONNECTIONS = `
  WITH session AS (SELECT * FROM pg_stat_activity WHERE backend_type = 'client backend')
  SELECT * FROM (
    SELECT 'the server' AS who, current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS usable,
           (SELECT count(*)::int FROM session) AS used
    UNION ALL
    SELECT 'the user ' || quote_ident(rolname), rolconnlimit, (SELECT count(*)::int FROM session WHERE usename = rolname)
      FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0 AND NOT rolsuper
    UNION ALL
    SELECT 'the database ' || quote_ident(d.datname), datconnlimit, (SELECT count(*)::int FROM session s WHERE s.datname = d.datname)
      FROM pg_database d WHERE d.datname = current_database() AND datconnlimit >= 0) AS limits
   ORDER BY usable - used LIMIT 1`;
/**
 * Transactions that write to our tables, with each table that they keep others from writing to, and whether somebody who
 * needs our tables waits for them. Those that wait themselves block nobody of their own accord. Other databases may have
 * tables with the same oid.
 */
const LOCKERS = `
  WITH RECURSIVE lock AS MATERIALIZED (SELECT * FROM pg_locks),
  ours AS (
    SELECT l.pid, l.mode, l.granted, c.relname, c.relkind
      FROM lock l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = $1
     WHERE l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND l.mode <> 'AccessShareLock'),
  blocker(pid) AS (
    -- Who builds an index waits for old transactions, such as a backup, and keeps no order waiting.
    SELECT unnest(pg_blocking_pids(pid)) FROM lock
     WHERE NOT granted AND locktype <> 'virtualxid' AND pid IN (SELECT pid FROM ours)
    UNION
    SELECT unnest(pg_blocking_pids(pid)) FROM blocker)
  SELECT t.virtualtransaction AS transaction, t.pid, o.relname AS "table", o.mode, coalesce(a.usename, 'unknown') AS "user",
         coalesce(a.application_name, '') AS application, a.state, extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds,
         t.pid IN (SELECT pid FROM blocker) AND t.pid NOT IN (SELECT pid FROM lock WHERE NOT granted AND pid IS NOT NULL) AS blocks
    FROM lock t
    LEFT JOIN ours o ON o.pid = t.pid AND o.granted AND o.relkind IN ('r', 'p')
                    AND o.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    LEFT JOIN pg_stat_activity a ON a.pid = t.pid
   WHERE t.locktype = 'virtualxid' AND t.granted AND t.pid <> pg_backend_pid()
     AND t.pid IN (SELECT pid FROM ours UNION SELECT pid FROM blocker) AND a.wait_event IS DISTINCT FROM 'SyncRep'
   ORDER BY t.pid, o.relname`;
/** Of the sessions of instances with a pool of our own. A host gives its sessions its own name. */
const RELEASES = `
  SELECT DISTINCT NULLIF(split_part(application_name, '/', 2), '') AS release, COALESCE(host(client_addr), 'an unknown host') AS host
    FROM pg_stat_activity
   WHERE datname = current_database() AND split_part(application_name, '/', 1) = '${APPLICATION}'`;
const DEAD_ROWS = `
  SELECT relname AS "table", n_dead_tup::float8 AS dead, n_live_tup::float8 AS live,
         pg_total_relation_size(relid)::float8 AS bytes
    FROM pg_stat_user_tables WHERE schemaname = $1 ORDER BY n_dead_tup DESC`;

interface DeadRows {
  readonly table: string;
  readonly dead: number;
  readonly live: number;
  readonly bytes: number;
}

export class ServerExamination {
  constructor(
    private readonly deps: ServerDependencies,
    private readonly notes: Notes,
  ) {}

  async run(): Promise<void> {
    const { notes } = this;
    await notes.examine('database server', () => this.server());
    if (this.deps.prepares) await notes.examine('pooler', () => this.pooler());
    await notes.examine('clocks', () => this.clocks());
    await notes.examine('primaries', () => this.primaries());
    await notes.examine('standby', () => this.standby());
    await notes.examine('transactions', () => this.transactions());
    await notes.examine('locks', () => noteLockers(this.deps, notes));
    await notes.examine('connections', () => this.connections());
    await notes.examine('dead rows', () => this.deadRows());
    await notes.examine('releases', () => this.releases());
  }

  private async releases(): Promise<void> {
    const found = await this.query<{ release: string | null; host: string }>(RELEASES);
    for (const { release, host } of found) noteRelease(this.notes, release ?? undefined, host, 'database');
  }

  private async server(): Promise<void> {
    const [server] = await this.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
    this.notes.fact('PostgreSQL', server?.version ?? 'unknown');
    for (const found of await this.query<BadSetting>(SETTINGS, [LEAST_LIMIT_MS])) {
      const isLimit = found.name !== 'synchronous_commit';
      const [id, harm] = isLimit
        ? ['statement-limit', 'statements are canceled that need longer']
        : ['asynchronous-commit', `${ENDS[found.shown] ?? ''} loses orders and payments that were acknowledged`];
      const remedy = `${corrected(found, isLimit ? '0' : 'on')} Then restart the service: its sessions keep it.`;
      this.notes.error(id, `${found.name} is ${found.shown} for ${found.user}, so that ${harm}.`, remedy);
    }
    await noteReadOnly(this.deps.dataSource, this.notes);
  }

  /** An old primary that comes back after a failover takes writes, and each new instance takes whichever answers first. */
  private async primaries(): Promise<void> {
    const { url } = this.deps.dataSource.options as { readonly url?: string };
    const writable = url === undefined ? [] : await writableServers(url);
    if (writable.length < 2) return;
    const seen = `${writable.length} servers of DATABASE_URL accept writes: ${writable.join(', ')}. Some instances may use one, and some another.`;
    const remedy =
      'Stop all but the primary at once, and look for orders that were written to the others (docs/database.md, "Failover").';
    this.notes.error('two-primaries', seen, remedy);
  }

  /** A pooler of transactions gives two connections one session, or one connection several. Others never do. */
  private async pooler(): Promise<void> {
    const { dataSource } = this.deps;
    const pids: (number | undefined)[] = [];
    await onOwnConnection(dataSource, STATEMENT_MS, (one) =>
      onOwnConnection(dataSource, STATEMENT_MS, async (other) => {
        for (const runner of [one, other, one, other, one, other]) {
          const [row] = (await runner.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
          pids.push(row?.pid);
        }
      }),
    );
    const isOwn = pids[0] !== pids[1] && pids.every((pid, index) => pid === pids[index % 2]);
    if (isOwn) return;
    const seen =
      'A pooler in transaction mode, such as PgBouncer, shares the sessions, and DATABASE_PREPARED_STATEMENTS is on.';
    const remedy = `Set DATABASE_PREPARED_STATEMENTS=off, and restart the service (docs/database.md, "PgBouncer").`;
    this.notes.error('pooled-session', seen, remedy);
  }

  /** The database's time lies between the moments of the question and of the answer. */
  private async clocks(): Promise<void> {
    const { now, limits } = this.deps;
    const askedAt = now();
    const [row] = await this.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    const answeredAt = now();
    const database = row?.now ?? askedAt;
    const ms = Math.round(database < askedAt ? database - askedAt : Math.max(0, database - answeredAt));
    this.notes.fact('clock difference, ms', ms);
    if (Math.abs(ms) < limits.clockMs) return;
    const seen = `The clock of this host differs from that of the database by ${Math.abs(ms)} ms.`;
    const remedy = 'Synchronize both with NTP. Providers refuse messages that are signed with a wrong time.';
    this.notes.warning('clock-difference', seen, remedy);
  }

  private async standby(): Promise<void> {
    const [waiting] = await this.query<{ commits: number; names: string; seconds: number }>(STANDBY);
    if (!waiting || waiting.commits === 0) return;
    const { commits, names, seconds } = waiting;
    const seen = `${commits} commits wait for a synchronous standby, the longest for ${Math.round(seconds)} s (wait_event SyncRep), because synchronous_standby_names is "${names}".`;
    const remedy =
      'Bring the standby back, or change synchronous_standby_names if a failover may lose what it does not have. ' +
      'Never end these sessions: that shows their commits without a standby (docs/runbook.md, "The database is unavailable").';
    this.notes.error('standby-missing', seen, remedy);
  }

  private async transactions(): Promise<void> {
    const { limits } = this.deps;
    const [all] = await this.query<{ sees: boolean }>(SEES_ALL);
    if (!all?.sees) this.notes.skip('transactions of other users', 'the database user is not in pg_read_all_stats');
    const [oldest] = await this.query<Session>(SESSIONS);
    if (oldest && oldest.seconds >= limits.transactionS) {
      const { pid, user, application, state, seconds } = oldest;
      const seen = `A transaction has been open for ${Math.round(seconds)} s (pid ${pid}, user ${user}, application "${application}", ${state}).`;
      const remedy = `It keeps dead rows alive and may hold locks. End it: SELECT pg_terminate_backend(${pid}); (docs/runbook.md, "A database session blocks orders").`;
      this.notes.warning('old-transaction', seen, remedy);
    }
    await this.prepared(limits.transactionS);
  }

  private async prepared(oldS: number): Promise<void> {
    const [found] = await this.query<{ gid: string; seconds: number; locks: boolean }>(PREPARED, [this.deps.schema]);
    if (!found || found.seconds < (found.locks ? PREPARED_S : oldS)) return;
    const { gid, seconds, locks } = found;
    const seen = `The prepared transaction "${gid}" has been open for ${Math.round(seconds)} s`;
    const remedy = `Whoever prepared it has gone: COMMIT PREPARED '${gid}'; or ROLLBACK PREPARED '${gid}'; (docs/runbook.md, "A database session blocks orders").`;
    if (locks) this.notes.error('rows-locked', `${seen}, and holds rows or tables for which others wait.`, remedy);
    else this.notes.warning('old-transaction', `${seen}.`, remedy);
  }

  private async connections(): Promise<void> {
    const { poolSize } = this.deps;
    const [row] = await this.query<{ who: string; usable: number; used: number }>(CONNECTIONS);
    const { who = '', usable = 0, used = 0 } = row ?? {};
    this.notes.fact('connections', `${used} of ${usable} in use, pool of ${poolSize}`);
    const limit = who === 'the server' ? 'max_connections' : `the CONNECTION LIMIT of ${who}`;
    const remedy = `Lower DATABASE_POOL_SIZE, or raise ${limit} above instances × pool size (docs/scale.md).`;
    if (poolSize > usable) {
      const seen = `The pool of one instance may open ${poolSize} connections, but ${who} allows ${usable}.`;
      this.notes.error('pool-too-large', seen, remedy);
    } else if (usable - used < poolSize) {
      const seen = `${usable - used} of ${usable} connections of ${who} are free, fewer than one more pool of ${poolSize}.`;
      this.notes.warning('connections-scarce', seen, remedy);
    }
  }

  private async deadRows(): Promise<void> {
    const { limits, schema } = this.deps;
    for (const { table, dead, live, bytes } of await this.query<DeadRows>(DEAD_ROWS, [schema])) {
      if (dead < limits.deadRows || dead < live * limits.deadShare) continue;
      const size = `${Math.ceil(bytes / 1_048_576)} MiB`;
      const seen = `The table ${table} has ${dead} dead rows beside ${live} live ones (${size}).`;
      const remedy = `End old transactions, see that autovacuum runs on it, then: VACUUM ${schema}.${table};`;
      this.notes.warning('dead-rows', seen, remedy);
    }
  }

  private query<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return ownQuery<T[]>(this.deps.dataSource, sql, values);
  }
}

interface BadSetting {
  readonly name: string;
  /** As PostgreSQL shows it, with its unit. */
  readonly shown: string;
  /** Where it comes from, in PostgreSQL's words. */
  readonly source: string;
  readonly user: string;
  readonly database: string;
}

/** What the role has of its own comes before what the database and the server have. */
function corrected({ name, source, user, database }: BadSetting, value: string): string {
  if (source === 'client') return 'Take it out of DATABASE_URL or PGOPTIONS.';
  const object = source === 'database user' ? `ROLE ${user} IN DATABASE ${database}` : `ROLE ${user}`;
  return `Run as an administrator: ALTER ${object} SET ${name} = ${value};`;
}

/** The slowest statement of a quiet start takes a tenth of it. */
const LEAST_LIMIT_MS = 1_000;

/** After the first one: 4 s, because after a wait of 0.5 s the service hardly waits for a row for 2 s or more. */
const LOOKS = 40;

const LOOK_MS = 100;

interface Locker {
  /** As PostgreSQL names it. */
  readonly transaction: string;
  readonly pid: number;
  /** Null: it keeps nobody from the whole table. */
  readonly table: string | null;
  readonly mode: string;
  readonly user: string;
  readonly application: string;
  /** Null, like `seconds`, if the database user may not see them. */
  readonly state: string | null;
  readonly seconds: number | null;
  /** At that moment, others wait for what it holds. */
  readonly blocks: boolean;
}

/**
 * What is held for a moment, as by a vacuum or by the service, blocks nobody. The service waits for rows at times only.
 *
 * @param most looks after the first one
 * @returns whether anybody blocks others
 */
export async function noteLockers(
  { dataSource, schema }: Pick<ServerDependencies, 'dataSource' | 'schema'>,
  notes: Notes,
  most = LOOKS,
): Promise<boolean> {
  const clock = new SystemClock();
  const look = (): Promise<Locker[]> => ownQuery(dataSource, LOCKERS, [schema]);
  const first = await look();
  const isHeld = (one: Locker): boolean =>
    first.some(({ transaction, table }) => transaction === one.transaction && table === one.table);
  const looks = [first];
  while (looks.at(-1)?.some(isHeld) && looks.length <= most) {
    await clock.sleep(LOOK_MS);
    looks.push(await look());
  }
  const blocking = new Set(looks.flat().flatMap(({ transaction, blocks }) => (blocks ? [transaction] : [])));
  const blockers = (looks.at(-1) ?? []).filter(
    (one) => isHeld(one) && (one.table !== null || blocking.has(one.transaction)),
  );
  for (const { pid } of blockers)
    for (const earlier of ['rows-locked', 'table-locked', 'old-transaction']) notes.withdraw(earlier, `(pid ${pid},`);
  for (const one of blockers) noteBlocker(one, schema, notes);
  return blockers.length > 0;
}

function noteBlocker(
  { pid, table, mode, user, application, state, seconds }: Locker,
  schema: string,
  notes: Notes,
): void {
  const held = table === null ? 'rows' : `${/^[AE]/.test(mode) ? 'an' : 'a'} ${mode} on ${schema}.${table}`;
  const since = seconds === null ? '' : `, ${state} for ${Math.round(seconds)} s`;
  const who = `(pid ${pid}, user ${user}, application "${application}"${since})`;
  const seen = `A session holds ${held}, for which others wait ${who}.`;
  const remedy = `Look what it does, and end it, unless its wait_event is SyncRep: SELECT pg_terminate_backend(${pid}); (docs/runbook.md, "A database session blocks orders").`;
  notes.error(table === null ? 'rows-locked' : 'table-locked', seen, remedy);
}

interface ReadOnlyFacts {
  readonly isStandby: boolean;
  readonly isSetting: boolean;
  /** Where the setting comes from, in PostgreSQL's words. */
  readonly source: string;
  /** If it is in one, and the user may know that. */
  readonly file: string | null;
  readonly user: string;
  readonly database: string;
}

/** @returns whether the server takes no writes */
export async function noteReadOnly(dataSource: DataSource, notes: Notes): Promise<boolean> {
  const [facts] = await ownQuery<ReadOnlyFacts[]>(dataSource, READ_ONLY);
  if (facts?.isStandby) {
    const remedy = 'Name all servers in DATABASE_URL, or promote this one (docs/database.md, "Failover").';
    notes.error('database-read-only', 'The database server is a standby, and takes no writes.', remedy);
  } else if (facts?.isSetting) {
    const seen = `default_transaction_read_only is on (source: ${facts.source}), so the database takes no writes.`;
    const why = 'Find out who has set it, as hosted servers do when their disk is nearly full';
    notes.error('database-read-only', seen, `${why}. Then ${writableAgain(facts)}`);
  }
  return facts !== undefined && (facts.isStandby || facts.isSetting);
}

/** Of an administrator, the session is read-only, too, and a statement cannot run together with another. */
function writableAgain({ source, file, user, database }: ReadOnlyFacts): string {
  const objects: Readonly<Record<string, string>> = {
    user: `ROLE ${user}`,
    database: `DATABASE ${database}`,
    'database user': `ROLE ${user} IN DATABASE ${database}`,
    global: 'ROLE ALL',
  };
  const object = objects[source];
  if (object) {
    const first = 'SET default_transaction_read_only = off;';
    return `run as an administrator, one after the other: ${first} ALTER ${object} RESET default_transaction_read_only;`;
  }
  if (source === 'client') return 'take it out of DATABASE_URL or PGOPTIONS, and restart the service.';
  if (source !== 'configuration file') return 'take it away from how the server is started, and restart that.';
  const reset = 'ALTER SYSTEM RESET default_transaction_read_only;';
  const where = file ?? 'postgresql.conf';
  const edit = `take it out of ${where}, and run as an administrator: SELECT pg_reload_conf();`;
  const byStatement = `run as an administrator, one after the other: ${reset} SELECT pg_reload_conf();`;
  if (file === null) return `${byStatement} If it stays, ${edit}`;
  return file.endsWith('postgresql.auto.conf') ? byStatement : edit;
}

interface Session {
  readonly pid: number;
  readonly user: string;
  readonly application: string;
  readonly state: string;
  readonly seconds: number;
}
