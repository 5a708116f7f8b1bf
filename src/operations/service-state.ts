import { Inject, Injectable, Optional } from '@nestjs/common';
import { CLOCK, type Clock, withTimeout } from '../clock';
import { Outbox, type OutboxBacklog } from '../outbox';
import { UnmatchedPayments } from '../orders';
import { RabbitClient } from '../rabbit';
import { isDatabaseWritable } from '../database';
import {
  oldestOverdue,
  oldestUndecided,
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
} from '../timeouts';

type UpOrDown = 'up' | 'down';

/** What the process knows of itself without asking anybody. */
export interface MomentaryState {
  /** Started, and everything overdue at the start handled once; false again while stopping. */
  readonly isReady: boolean;
  readonly broker: UpOrDown;
  /** `suspect`: messages flow, but wake-ups keep going missing. `off`: the transport is `none`. In all but `up` the sweep is the clock. */
  readonly messagePath: UpOrDown | 'suspect' | 'off';
  /** What is wrong with the message path while messages flow, and what to do. */
  readonly cause?: string;
  /** Absent until the broker has answered for the first time. */
  readonly transport?: string;
}

/** An orchestrator gives a probe 1-5 s; a database that needs longer than this is not usable anyway. */
const PATIENCE_MS = 2_000;

/** How the service is, for health and metrics. */
@Injectable()
export class ServiceState {
  constructor(
    private readonly engine: TimeoutEngine,
    private readonly client: RabbitClient,
    private readonly outbox: Outbox,
    private readonly parkedTimeouts: ParkedTimeouts,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    /** Not there where a host uses TimeoutsModule alone. */
    @Optional() private readonly unmatchedPayments?: UnmatchedPayments,
  ) {}

  now(): MomentaryState {
    const { transport, isReady, path } = this.engine;
    return {
      isReady,
      broker: this.client.isUp ? 'up' : 'down',
      messagePath: path.state,
      ...(transport === undefined ? {} : { transport }),
      ...(path.doubt === undefined ? {} : { cause: path.doubt }),
    };
  }

  /** Whether the database answers within 2 s and takes writes; a standby does not. */
  isDatabaseUp(): Promise<boolean> {
    return withTimeout(this.clock, PATIENCE_MS, isDatabaseWritable(this.options.dataSource), false);
  }

  /** Parked timeouts by kind; undefined when the database does not answer within 2 s. */
  parked(): Promise<ReadonlyMap<string, number> | undefined> {
    return this.inTime(this.parkedTimeouts.count());
  }

  /** Seconds by which the oldest due timeout of each kind is late; undefined when the database does not answer within 2 s. */
  overdue(): Promise<ReadonlyMap<string, number> | undefined> {
    const { dataSource, schema } = this.options;
    return this.inTime(oldestOverdue(dataSource, schema));
  }

  /** Seconds since the deadline of the oldest timeout of each kind that is being asked again; undefined as in `overdue`. */
  undecided(): Promise<ReadonlyMap<string, number> | undefined> {
    const { dataSource, schema } = this.options;
    return this.inTime(oldestUndecided(dataSource, schema));
  }

  /** Payments that wait for a person; undefined when the database does not answer within 2 s. */
  async unmatched(): Promise<number | undefined> {
    return this.unmatchedPayments && this.inTime(this.unmatchedPayments.countKept());
  }

  /** Undefined when the database does not answer within 2 s. */
  backlog(): Promise<OutboxBacklog | undefined> {
    return this.inTime(this.outbox.backlog(this.options.dataSource));
  }

  private inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    return withTimeout<T | undefined>(
      this.clock,
      PATIENCE_MS,
      answer.catch(() => undefined),
      undefined,
    );
  }
}
