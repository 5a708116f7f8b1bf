import { type DataSource } from 'typeorm';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { CLOCK, type Clock, withTimeout } from '../clock';
import { Outbox, type OutboxBacklog } from '../outbox';
import { UnmatchedPayments } from '../orders';
import { RabbitClient } from '../rabbit';
import { isDatabaseWritable, isLockTimeout, ownQuery } from '../database';
import {
  oldestOverdue,
  oldestUndecided,
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
} from '../timeouts';

type UpOrDown = 'up' | 'down';

/** State that the process knows without asking the database. */
export interface MomentaryState {
  /** Started, and everything that was overdue at the start is handled once. False again while stopping. */
  readonly isReady: boolean;
  readonly broker: UpOrDown | 'not configured';
  /**
   * `suspect`: messages flow, but wake-ups get lost. `off`: the transport is `none`. Except in `up`, timeouts depend on
   * the sweep.
   */
  readonly messagePath: UpOrDown | 'suspect' | 'off';
  /** What is wrong with the message path although messages flow, and what to do. */
  readonly cause?: string;
  /** Absent until the broker answers for the first time. */
  readonly transport?: string;
}

/** Orchestrators give a probe 1 to 5 s. A database that needs longer than this cannot serve requests anyway. */
const PATIENCE_MS = 2_000;

@Injectable()
export class ServiceState {
  constructor(
    private readonly engine: TimeoutEngine,
    private readonly client: RabbitClient,
    private readonly outbox: Outbox,
    private readonly parkedTimeouts: ParkedTimeouts,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    /** Absent if the host uses TimeoutsModule alone. */
    @Optional() private readonly unmatchedPayments?: UnmatchedPayments,
  ) {}

  now(): MomentaryState {
    const { transport, isReady, path } = this.engine;
    return {
      isReady,
      broker: this.client.isConfigured ? (this.client.isUp ? 'up' : 'down') : 'not configured',
      messagePath: path.state,
      ...(transport === undefined ? {} : { transport }),
      ...(path.doubt === undefined ? {} : { cause: path.doubt }),
    };
  }

  /** @internal The kinds and providers that an operator has paused. */
  get paused(): readonly string[] {
    return [...this.engine.controls.paused];
  }

  /** @internal The kinds of timeouts that this process handles. */
  get kinds(): readonly string[] {
    return this.engine.kinds;
  }

  get hasBroker(): boolean {
    return this.client.isConfigured;
  }

  /** Whether the database answers within 2 s, accepts writes to every table, and hides no rows. A standby does not. */
  isDatabaseUp(): Promise<boolean> {
    const { dataSource, schema } = this.options;
    const isUp = isDatabaseWritable(dataSource).then((is) => is && areTablesFree(dataSource, schema));
    return withTimeout(this.clock, PATIENCE_MS, isUp, false);
  }

  /** Parked timeouts by kind. */
  parked(): Promise<ReadonlyMap<string, number> | undefined> {
    return this.inTime(this.parkedTimeouts.count());
  }

  /** Lateness in seconds of the oldest due timeout by kind. */
  overdue(): Promise<ReadonlyMap<string, number> | undefined> {
    const { dataSource, schema } = this.options;
    return this.inTime(oldestOverdue(dataSource, schema));
  }

  /** Seconds since the deadline of the oldest timeout by kind that is still being looked up. */
  undecided(): Promise<ReadonlyMap<string, number> | undefined> {
    const { dataSource, schema } = this.options;
    return this.inTime(oldestUndecided(dataSource, schema));
  }

  /** Payments that wait for a person. */
  async unmatched(): Promise<number | undefined> {
    return this.unmatchedPayments && this.inTime(this.unmatchedPayments.countKept());
  }

  backlog(): Promise<OutboxBacklog | undefined> {
    return this.inTime(this.outbox.backlog(this.options.dataSource));
  }

  /** Undefined if the database does not answer within 2 s. */
  private inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    return withTimeout<T | undefined>(
      this.clock,
      PATIENCE_MS,
      answer.catch(() => undefined),
      undefined,
    );
  }
}

/**
 * False while another session keeps ours from writing to a table of this schema, as LOCK TABLE and CREATE INDEX do, and
 * while row-level security hides rows of one: an event that the relay does not see is never sent. Any other failure says
 * nothing of that. Never rejects.
 */
export async function areTablesFree(dataSource: DataSource, schema: string): Promise<boolean> {
  const hidden = `SELECT FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND row_security_active(oid) LIMIT 1`;
  const lock = `
    SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
    DO $$ BEGIN EXECUTE (
      SELECT 'LOCK TABLE ' || string_agg(oid::regclass::text, ', ') || ' IN ROW EXCLUSIVE MODE' FROM pg_class
       WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relname NOT LIKE '%migrations'); END $$`;
  try {
    if ((await ownQuery<object[]>(dataSource, hidden)).length > 0) return false;
    await ownQuery(dataSource, lock);
    return true;
  } catch (error) {
    return !isLockTimeout(error);
  }
}

/** A request waits twice as long. Below deadlock_timeout, so that nobody else is canceled for it. */
const TABLE_LOCK_MS = 900;
