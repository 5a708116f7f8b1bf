import { chownSync, copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { codeOf, SetupError } from '../setup/errors.mjs';
import { waitUntil } from '../setup/processes.mjs';
import { postgresServer, postgresSpec } from './postgres.mjs';
import { makeServerFolder, writeServerFile } from './place.mjs';
import { killServer, startServer, stopServer } from './supervisor.mjs';

const limitMs = 60_000;
/** Enough for a standby that joins without an archive. */
const settings = { wal_keep_size: '512MB', hot_standby: 'on' };
/** Of the primary's run alone, or sent to the standby by the primary. */
const leftOut = new Set(['postmaster.pid', 'postmaster.opts', 'pgsql_tmp']);
const emptied = new Set(['pg_wal', 'pg_replslot', 'pg_stat_tmp']);

/** @typedef {import('./place.mjs').ServerUser | undefined} MaybeUser */
/** @typedef {import('./supervisor.mjs').ServerSpec<import('./postgres.mjs').PostgresAccess>} PostgresSpec */
/** @typedef {{ spec: PostgresSpec, server?: import('./supervisor.mjs').Server }} Member */

const otherOf = (/** @type {0 | 1} */ index) => (index === 0 ? 1 : 0);

/**
 * Two PostgreSQL servers with synchronous replication: what is committed on the primary is on the standby's disk. Knows
 * who is who, as the program that watches over a cluster does.
 */
export class ReplicatedPostgres {
  /** @type {[Member, Member]} */
  #members;
  /** @type {0 | 1} */
  #primary = 0;

  /** @param {[Member, Member]} members @param {{ user?: MaybeUser, signal: AbortSignal }} options */
  constructor(members, { user, signal }) {
    this.#members = members;
    this.user = user;
    this.signal = signal;
  }

  /**
   * @param {Omit<import('./postgres.mjs').PostgresOptions, 'name' | 'logFile'> & { signal: AbortSignal }} options
   */
  static async make(options) {
    const { directory, basePort, user, signal } = options;
    const memberOf = (/** @type {number} */ number) => ({
      ...{ ...options, settings, name: `member ${number + 1}`, basePort: basePort + number },
      directory: makeServerFolder(join(directory, `member-${number + 1}`), user),
      logFile: join(directory, `member-${number + 1}.log`),
    });
    /** @type {[Member, Member]} */
    const members = [{ spec: await postgresServer(memberOf(0)) }, { spec: postgresSpec(memberOf(1)) }];
    return new ReplicatedPostgres(members, { user, signal });
  }

  /** URLs of both servers, the first one's first; process ids of those that run. */
  get access() {
    const [first, second] = this.#members;
    const url = first.spec.access.url;
    const urls = [url, second.spec.access.url];
    const hosts = urls.map((each) => new URL(each).host).join(',');
    const databaseUrl = `${url.replace(new URL(url).host, hosts)}?target_session_attrs=read-write`;
    return {
      databaseUrl,
      urls,
      primaryUrl: urls[this.#primary],
      pids: this.#members.map(({ server }) => (server && !server.hasExited() ? server.pid : undefined)),
    };
  }

  async start() {
    await this.startPrimary();
    await this.rejoin();
  }

  /** It stays the primary; the standby follows it again by itself. */
  async startPrimary() {
    if (isRunning(this.#primaryMember)) return;
    this.#primaryMember.server = await startServer(this.#primaryMember.spec, { signal: this.signal });
  }

  /** As a machine that comes back after a failover does: it does not know that it was replaced. */
  async startOldPrimary() {
    const old = this.#standbyMember;
    if (isRunning(old)) throw refused('start-old-primary', 'the standby runs');
    old.server = await startServer(old.spec, { signal: this.signal });
  }

  /** kill -9. */
  async killPrimary() {
    if (this.#primaryMember.server) await killServer(this.#primaryMember.server);
  }

  /** In good order: the standby has everything. */
  async stopPrimary() {
    const { server, spec } = this.#primaryMember;
    if (server) await stopServer(server, spec);
  }

  /** kill -9: the primary's commits wait for it. */
  async killStandby() {
    if (this.#standbyMember.server) await killServer(this.#standbyMember.server);
  }

  /** The standby, started if it is down, becomes the primary, and waits for nobody until the other one has joined again. */
  async promote() {
    if (isRunning(this.#primaryMember)) throw refused('promote', 'the primary runs');
    const standby = this.#standbyMember;
    if (!isRunning(standby)) standby.server = await startServer(standby.spec, { signal: this.signal });
    await withClient(standby, async (client) => {
      // A statement that waited for the promotion would have a snapshot. What is replayed before the promotion may remove
      // rows that it could see, waits for it 30 s, and then cancels it: promoted, and reported as failed.
      await client.query('SELECT pg_promote(false)');
      await until(client, 'SELECT 1 WHERE NOT pg_is_in_recovery()');
    });
    this.#primary = otherOf(this.#primary);
  }

  /** The server that is down becomes the standby, with a fresh copy of the data. */
  async rejoin() {
    const [primary, standby] = [this.#primaryMember, this.#standbyMember];
    if (isRunning(standby)) throw refused('rejoin', 'the standby runs');
    await withClient(primary, async (client) => {
      await this.#copyData(client);
      standby.server = await startServer(standby.spec, { signal: this.signal });
      await until(client, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await client.query('SELECT pg_reload_conf()');
      await until(client, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
    });
  }

  async close() {
    for (const { server } of this.#members) if (server) await killServer(server);
  }

  get #primaryMember() {
    return this.#members[this.#primary];
  }

  get #standbyMember() {
    return this.#members[otherOf(this.#primary)];
  }

  /** A base backup by PostgreSQL's own functions: its npm package has no pg_basebackup. @param {pg.Client} client */
  async #copyData(client) {
    const { user } = this;
    const [from, to] = [clusterOf(this.#primaryMember), clusterOf(this.#standbyMember)];
    rmSync(to, { recursive: true, force: true });
    const { start, stop } = await backupCalls(client);
    await client.query(`SELECT ${start}`);
    copyFolder(from, to, user);
    /** @type {pg.QueryResult<{ labelfile: string }>} */
    const { rows } = await client.query(`SELECT labelfile FROM ${stop}`);
    const [stopped] = rows;
    if (!stopped) throw refused('rejoin', 'the backup ended without a label');
    writeServerFile(join(to, 'backup_label'), stopped.labelfile, user);
    writeServerFile(join(to, 'standby.signal'), '', user);
    const { hostname, port, username, password } = new URL(this.#primaryMember.spec.access.url);
    const way = `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`;
    writeServerFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${way}'\n`, user);
  }
}

/** @param {Member} member */
const clusterOf = ({ spec }) => join(spec.cwd, 'cluster');
/** @param {Member} member */
const isRunning = ({ server }) => server !== undefined && !server.hasExited();

const refused = (/** @type {string} */ command, /** @type {string} */ why) =>
  new SetupError('REFUSED', `cannot ${command}: ${why}`, { remedy: 'kill-primary, promote, rejoin, in this order' });

/** @param {Member} member @param {(client: pg.Client) => Promise<unknown>} work */
async function withClient({ spec }, work) {
  const client = new pg.Client({ connectionString: spec.access.url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** @param {pg.Client} client @param {string} sql */
async function until(client, sql) {
  const look = async () => (await client.query(sql)).rows.length > 0;
  if (!(await waitUntil(look, { everyMs: 50, limitMs })))
    throw new SetupError('NO_REPLICATION', `no row within ${limitMs / 1000} s: ${sql}`, {
      remedy: "read the servers' logs beside their data",
    });
}

const backups = { start: "pg_backup_start('rejoin', true)", stop: 'pg_backup_stop(false)' };
const backupsOf14 = { start: "pg_start_backup('rejoin', true, false)", stop: 'pg_stop_backup(false, false)' };

/** They were renamed in PostgreSQL 15. @param {pg.Client} client */
async function backupCalls(client) {
  const { rows } = await client.query("SELECT 1 FROM pg_proc WHERE proname = 'pg_backup_start'");
  return rows.length > 0 ? backups : backupsOf14;
}

/** Files may vanish meanwhile, and the write-ahead log comes by replication. @param {string} from @param {string} to @param {MaybeUser} user */
function copyFolder(from, to, user) {
  makeServerFolder(to, user);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (emptied.has(entry.name)) makeServerFolder(target, user);
    else if (leftOut.has(entry.name)) continue;
    else if (entry.isDirectory()) copyFolder(source, target, user);
    else copyFile(source, target, user);
  }
}

/** @param {string} source @param {string} target @param {MaybeUser} user */
function copyFile(source, target, user) {
  try {
    copyFileSync(source, target);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (user) chownSync(target, user.uid, user.gid);
}
