import { Client } from 'pg';
import { type Backends, type Connected } from './backends';
import { CONNECT, SUSPICIOUS_MS, type Traits, traitsOf, uncounted } from './statement-traits';
import { acting, type Actor, real, type VirtualTime } from './virtual-time';

type Answer = { readonly value: unknown } | { readonly error: Error };

/**
 * What becomes of a statement: PostgreSQL refuses it with a SQLSTATE, or the connection breaks before it or after it, when
 * nobody knows any more whether it was executed.
 */
export type Fate = { readonly code: string } | 'cut-before' | 'cut-after' | undefined;

interface Statement {
  readonly session: Session;
  readonly text: string;
  readonly traits: Traits;
  readonly send: () => Promise<unknown>;
  readonly settle: (answer: Answer) => void;
  answer?: Answer;
  done?: Promise<void>;
  /** Called when there is an answer. */
  heard?: () => void;
  /** Since when it waits for a lock. */
  blockedAt?: number;
}

/** A connection of an instance to PostgreSQL. */
export interface Session {
  readonly id: number;
  readonly client: Client;
  readonly actor: Actor | undefined;
  readonly queue: Statement[];
  inFlight: Statement | undefined;
  /** How long its transaction waits for a lock, virtual milliseconds; 0: without end. */
  lockMs: number;
}

/** As in the options of a connection. */
const ACTOR = /sim\.actor=(\S+)/;

type Method = (...args: unknown[]) => unknown;

const prototype = Client.prototype as unknown as Record<'query' | 'connect' | 'end', Method>;

const original = { query: prototype.query, connect: prototype.connect, end: prototype.end };

/** Locks of payments' names: which ones a payment has is known only step by step, so the service starts again. */
const NAMES = /pg_advisory_xact_lock/;

/** Until then, PostgreSQL has looked whether a wait closes a circle; it looks once. Real milliseconds. */
const DEADLOCK_MS = 15;

/** Within a transaction, nothing else releases what it has locked. */
const BACK = /^ROLLBACK TO\b/;

/** All sessions of the instances with PostgreSQL. One statement runs at a time, unless others wait for locks. */
export class Sessions {
  /** How many statements were sent. */
  statements = 0;
  /** How many of them have failed because of another transaction. */
  conflicts = 0;
  /** Where PostgreSQL has found locks in a circle. */
  readonly deadlocks: string[] = [];
  /** What only a constraint has kept out of a table. */
  readonly violations: string[] = [];
  /** Of each statement of an instance, before it is sent. */
  fateOf: (text: string) => Fate = () => undefined;
  private readonly all = new Map<Client, Session>();
  private readonly actors = new Map<string, Actor>();
  /** Connections that are being closed. */
  private leaving: { readonly session: Session; readonly hasLeft: Promise<void> }[] = [];
  private ids = 0;
  /** Locks were released since everybody who waits for one was looked at. */
  private mayWake = false;
  /** The time that PostgreSQL knows. */
  private told = 0;

  constructor(
    private readonly time: VirtualTime,
    private readonly backends: Backends,
    private readonly say: (line: string) => void,
  ) {}

  open(): void {
    takeOver(this);
  }

  /** Nobody has a session any more. */
  async close(): Promise<void> {
    for (const client of [...this.all.keys()]) {
      connectedOf(client).connection.stream.destroy();
      this.closed(client);
    }
    await this.backends.untilFree();
    takeOver(undefined);
  }

  /** On a connection of the world's own. */
  ask<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.backends.ask<T>(sql, values);
  }

  async lend(session: Session): Promise<void> {
    await this.backends.lend(session.client);
  }

  /** PostgreSQL has the world's time from now on. */
  async tellTime(): Promise<void> {
    if (this.told === this.time.now) return;
    this.told = this.time.now;
    await this.backends.ask("SELECT setval('sim.instant', $1)", [Math.floor(this.time.now)]);
  }

  /** Sends what begins a transaction, which begins at the world's time. */
  async begin(client: Client, text: string): Promise<unknown> {
    const { now } = this.time;
    const begun = `SET LOCAL sim.begun = '${new real.Date(now).toISOString()}'`;
    // A host names its isolation level in the next statement, and no query may come before that.
    const isComplete = text.includes('ISOLATION LEVEL');
    if (!isComplete) await this.tellTime();
    const told = this.told === now ? '' : `; SELECT setval('sim.instant', ${Math.floor(now)})`;
    const sql = `${text}; ${begun}${told}`;
    const [result] = (await original.query.call(client, sql)) as unknown[];
    this.told = now;
    return result;
  }

  /** Its connections are known by the name in their options, whoever opens them. */
  introduce(actor: Actor): void {
    this.actors.set(actor.name, actor);
  }

  of(client: Client): Session {
    const known = this.all.get(client);
    if (known) return known;
    const [, name = ''] = ACTOR.exec(connectedOf(client).connectionParameters.options ?? '') ?? [];
    const session: Session = {
      ...{ id: ++this.ids, client, actor: this.actors.get(name), queue: [], inFlight: undefined, lockMs: 0 },
    };
    this.all.set(client, session);
    return session;
  }

  /** Called when a connection has opened. */
  opened(session: Session): void {
    connectedOf(session.client).connection.stream.once('close', () => this.closed(session.client));
  }

  /** What has not been sent fails, and what was, once the connection is closed. */
  closed(client: Client): void {
    const session = this.all.get(client);
    if (!session) return;
    this.all.delete(client);
    this.leaving.push({ session, hasLeft: this.backends.takeBack(client) });
    for (const { settle } of session.queue.splice(0))
      settle({ error: new Error('Connection terminated unexpectedly') });
  }

  submit(session: Session, text: string, send: () => Promise<unknown>): Promise<unknown> {
    if (isGone()) return never();
    return new Promise((resolve, reject) => {
      const settle = (answer: Answer): void => ('error' in answer ? reject(answer.error) : resolve(answer.value));
      session.queue.push({ session, text, traits: traitsOf(text), send, settle });
    });
  }

  /** Those whose next statement can be sent. */
  ready(mayRun: (actor: Actor | undefined) => boolean): Session[] {
    return [...this.all.values()].filter(
      ({ queue, inFlight, actor }) => queue.length > 0 && !inFlight && mayRun(actor),
    );
  }

  async execute(session: Session): Promise<void> {
    const statement = session.queue.shift();
    if (!statement) return;
    const { label, isTimed } = statement.traits;
    if (isTimed && this.told !== this.time.now) await this.tellTime();
    session.inFlight = statement;
    if (statement.text !== DISCARD) this.statements += 1;
    statement.done = this.perform(statement).then(
      (value) => answer(statement, { value }),
      (error: Error) => answer(statement, { error }),
    );
    if (await this.isAnswered(statement)) return this.end(statement);
    // If it closes a circle, it is the one that PostgreSQL ends.
    await within(DEADLOCK_MS, statement);
    if (statement.answer) return this.end(statement);
    statement.blockedAt = this.time.now;
    this.say(`${nameOf(session)} waits for a lock: ${label}`);
  }

  private async perform({ session, text, traits: { label }, send }: Statement): Promise<unknown> {
    const fate = session.actor && this.fateOf(text);
    if (fate === undefined) return send();
    this.say(`${nameOf(session)} ${typeof fate === 'string' ? fate : `is refused (${fate.code})`}: ${label}`);
    if (text === CONNECT) return this.refuseConnection(session, typeof fate === 'object' ? fate.code : 'ECONNREFUSED');
    if (typeof fate === 'object') return original.query.call(session.client, refusal(fate.code));
    if (fate === 'cut-after') await send();
    connectedOf(session.client).connection.stream.destroy();
    throw new Error('Connection terminated unexpectedly');
  }

  private refuseConnection(session: Session, code: string): never {
    this.all.delete(session.client);
    throw Object.assign(new Error(`the connection is refused (${code})`), { code });
  }

  /** `resume` has something to do. */
  get hasNews(): boolean {
    let isWaiting = false;
    for (const { client, inFlight } of this.all.values()) {
      if (connectedOf(client).connection.stream.destroyed) return true;
      isWaiting ||= inFlight !== undefined;
    }
    this.mayWake &&= isWaiting;
    return this.mayWake || this.leaving.length > 0;
  }

  /** One that waited for a lock has its answer now, or connections are closed. False: neither. */
  async resume(): Promise<boolean> {
    // Node tells of it some time after.
    for (const client of [...this.all.keys()]) if (connectedOf(client).connection.stream.destroyed) this.closed(client);
    if (await this.untilLeft()) return true;
    if (!this.mayWake) return false;
    for (const { inFlight } of this.all.values()) {
      if (!inFlight || !(await this.isAnswered(inFlight))) continue;
      await this.end(inFlight);
      return true;
    }
    this.mayWake = false;
    return false;
  }

  /** Whoever asked hears of it after the end of its connection, whichever of the two PostgreSQL and Node tell first. */
  private async end(statement: Statement): Promise<void> {
    const { client } = statement.session;
    if (!connectedOf(client).connection.stream.destroyed) return this.deliver(statement);
    this.closed(client);
    await this.untilLeft();
  }

  get nextLockTimeout(): number {
    let at = Infinity;
    for (const session of this.all.values()) at = Math.min(at, lockTimeoutOf(session));
    return at;
  }

  /** Ends a wait for a lock as PostgreSQL would, by the virtual clock. False: none is over. */
  async timeOutLock(): Promise<boolean> {
    const session = [...this.all.values()].find((one) => lockTimeoutOf(one) <= this.time.now);
    const statement = session?.inFlight;
    if (!session || !statement) return false;
    await this.ask('SELECT pg_cancel_backend($1)', [pidOf(session)]);
    await statement.done;
    if (statement.answer && 'error' in statement.answer)
      Object.assign(statement.answer.error, { code: '55P03', message: 'canceling statement due to lock timeout' });
    this.deliver(statement);
    return true;
  }

  /** Some of the connections break. */
  cut(isCut: () => boolean): void {
    for (const client of [...this.all.keys()].filter(isCut)) connectedOf(client).connection.stream.destroy();
  }

  /** PostgreSQL has ended all sessions of the actor before anything else happens. */
  drop(actor: Actor): void {
    for (const session of [...this.all.values()].filter((one) => one.actor === actor)) {
      session.queue.length = 0;
      connectedOf(session.client).connection.stream.destroy();
      this.closed(session.client);
    }
  }

  /** The locks of closed connections are free, and whoever waited for their end knows. False: there were none. */
  private async untilLeft(): Promise<boolean> {
    const leaving = this.leaving.splice(0).sort((a, b) => a.session.id - b.session.id);
    if (leaving.length === 0) return false;
    await Promise.all(leaving.map(({ hasLeft }) => hasLeft));
    this.mayWake = true;
    for (const { session } of leaving) {
      const { inFlight, actor } = session;
      if (!inFlight || actor?.isAlive === false) continue;
      await inFlight.done;
      this.deliver(inFlight);
    }
    return true;
  }

  private deliver(statement: Statement): void {
    const { session, answer, settle } = statement;
    const { label } = statement.traits;
    if (!answer) return;
    if ('error' in answer) this.note(answer.error, label);
    session.inFlight = undefined;
    if (connectedOf(session.client)._txStatus !== 'T' || BACK.test(label)) this.mayWake = true;
    this.say(`${nameOf(session)}: ${label}${'error' in answer ? ` ! ${uncounted(answer.error.message)}` : ''}`);
    settle(answer);
  }

  private note(error: Error & { readonly code?: string }, label: string): void {
    if (error.code === '40001' || error.code === '40P01') this.conflicts += 1;
    if (error.code === '23514') this.violations.push(error.message);
    if (error.message === 'deadlock detected' && !NAMES.test(label)) this.deadlocks.push(`a deadlock: ${label}`);
  }

  /** False: it waits for a lock. On a busy machine, it may as well wait for a processor, so it is asked ever less often. */
  private async isAnswered(statement: Statement): Promise<boolean> {
    const pid = pidOf(statement.session);
    const blocked = 'SELECT cardinality(pg_blocking_pids($1)) > 0 AS blocked';
    for (let waitMs = statement.traits.suspiciousMs; ; waitMs *= 2) {
      await within(waitMs, statement);
      if (statement.answer) return true;
      if (pid === null) continue;
      const [row] = await this.ask<{ blocked: boolean }>(blocked, [pid]);
      if (statement.answer) return true;
      if (row?.blocked) return false;
    }
  }
}

function connectedOf(client: Client): Connected {
  return client as unknown as Connected;
}

function pidOf(session: Session): number | null {
  return connectedOf(session.client).processID;
}

function nameOf({ actor, id }: Session): string {
  return `${actor?.name ?? 'somebody'} session ${id}`;
}

/** SQL: fails as PostgreSQL fails, so that a transaction is aborted, too. */
function refusal(code: string): string {
  return `DO $$ BEGIN RAISE EXCEPTION 'refused by the world' USING ERRCODE = '${code}'; END $$`;
}

function lockTimeoutOf({ inFlight, lockMs }: Session): number {
  return inFlight?.blockedAt === undefined || lockMs === 0 ? Infinity : inFlight.blockedAt + lockMs;
}

function answer(statement: Statement, given: Answer): void {
  statement.answer = given;
  statement.heard?.();
}

/** What waits for real time, one thing at a time. */
const alarm = { at: 0, ring: (): void => undefined, timer: undefined as NodeJS.Timeout | undefined };

/** Until the statement is answered, real milliseconds at most. One timer for all, because most are answered at once. */
function within(ms: number, statement: Statement): Promise<void> {
  return new Promise((resolve) => {
    if (statement.answer) return resolve();
    statement.heard = alarm.ring = resolve;
    alarm.at = real.monotonic() + ms;
    if (alarm.timer) alarm.timer.refresh();
    else alarm.timer = real.setTimeout(lookAtAlarm, SUSPICIOUS_MS);
  });
}

function lookAtAlarm(): void {
  if (real.monotonic() >= alarm.at) alarm.ring();
  else alarm.timer?.refresh();
}

/** Those of the world that is played, between pg and everybody who uses it. */
let playing: Sessions | undefined;

/** Nothing that a crashed instance awaits ever comes, also in the next world. */
const isGone = (): boolean => acting.getStore()?.isAlive === false;

const never = (): Promise<never> => new Promise(() => undefined);

/** The methods of pg stay as they are from world to world: V8 compiles what calls them anew when they change. */
function takeOver(sessions: Sessions | undefined): void {
  if (prototype.query === original.query) Object.assign(prototype, simulated);
  playing = sessions;
}

const simulated: Record<'query' | 'connect' | 'end', Method> = {
  query(this: Client, ...args: unknown[]): unknown {
    const sessions = playing;
    if (!sessions) return original.query.apply(this, args);
    if (isGone()) return withCallback(args, never);
    return withCallback(args, (given) => submitQuery(sessions, this, given));
  },
  connect(this: Client, ...args: unknown[]): unknown {
    const sessions = playing;
    if (!sessions) return original.connect.apply(this, args);
    if (isGone()) return withCallback(args, never);
    const { stream } = connectedOf(this).connection;
    // Cut before it connects, which takes no time elsewhere.
    stream.on('error', () => undefined);
    const connect = async (): Promise<Client> => {
      if (stream.destroyed) throw new Error('Connection terminated unexpectedly');
      await sessions.lend(sessions.of(this));
      await original.connect.call(this);
      sessions.opened(sessions.of(this));
      return this;
    };
    return withCallback(args, () => sessions.submit(sessions.of(this), CONNECT, connect));
  },
  end(this: Client, ...args: unknown[]): unknown {
    playing?.closed(this);
    return original.end.apply(this, args);
  },
};

/** Methods of pg take a callback, or return a promise. */
function withCallback(args: unknown[], work: (given: unknown[]) => Promise<unknown>): unknown {
  const last = args.at(-1);
  if (typeof last !== 'function') return work(args);
  const callback = last as (error: unknown, result?: unknown) => void;
  work(args.slice(0, -1)).then(
    (result) => callback(null, result),
    (error: unknown) => callback(error),
  );
  return undefined;
}

const LOCK_LIMIT = /SET LOCAL lock_timeout = (\d+)/;

/** The tables are as large as they were, and so would be the plans. */
const DISCARD = 'DISCARD PLANS';

/** They would count real time. */
const SERVER_LIMITS = /; SET LOCAL (?:statement_timeout|lock_timeout|idle_in_transaction_session_timeout) = \d+/g;

function submitQuery(sessions: Sessions, client: Client, [query, ...values]: unknown[]): Promise<unknown> {
  const session = sessions.of(client);
  const text = typeof query === 'string' ? query : (query as { text?: string }).text;
  if (text === undefined) throw new Error('only statements are simulated, no cursors or streams');
  if (text === DISCARD) return sessions.submit(session, text, () => Promise.resolve());
  const { isBeginning, name } = traitsOf(text);
  if (!isBeginning) {
    const isBare = typeof query === 'string' && values.every((value) => value === undefined);
    if (isBare && name !== undefined)
      return sessions.submit(session, text, () => original.query.call(client, { name, text }) as Promise<unknown>);
    return sessions.submit(session, text, () => original.query.call(client, query, ...values) as Promise<unknown>);
  }
  session.lockMs = Number(LOCK_LIMIT.exec(text)?.[1] ?? 0);
  return sessions.submit(session, text, () => sessions.begin(client, text.replace(SERVER_LIMITS, '')));
}
