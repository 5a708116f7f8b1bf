import { type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { announceAfterCommit, type Outbox, type OutboxEntry, wakeUpBody } from '../../outbox';
import { type LockedRow } from './locked-timeout';
import { type ResolvedOutcome } from './resolve-outcome';
import { type SettlementQueries } from './settlement-queries';
import { storableReason } from './storable-reason';

interface RecorderDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly outbox: Outbox;
  readonly leaseMs: number;
  readonly writesWakeUps: boolean;
}

interface Recorded {
  readonly row: LockedRow;
  readonly outcome: ResolvedOutcome;
}

/** When a row has to be looked at again. */
export interface NextWakeUp {
  readonly key: string;
  readonly generation: string;
  readonly due_ms: number;
}

type OfType<T extends ResolvedOutcome['type']> = Recorded & { outcome: Extract<ResolvedOutcome, { type: T }> };

/** Writes outcomes into the timeout table in the transaction of the effect: at most one statement per outcome type. */
export class OutcomeRecorder {
  constructor(private readonly deps: RecorderDependencies) {}

  /** @param lease token that fences the second call of the handler. */
  async record(tx: EntityManager, recorded: readonly Recorded[], lease: string): Promise<void> {
    const { kind, queries } = this.deps;
    const done = ofType(recorded, 'done');
    if (done.length > 0) await tx.query(queries.finish, [kind, ...identities(done)]);
    // The lease counts from clock_timestamp(), because the transaction may have begun long before the look-up.
    const leased = ofType(recorded, 'look-up');
    if (leased.length > 0) await tx.query(queries.lease, [kind, ...identities(leased), lease, this.deps.leaseMs]);
    await this.retry(tx, ofType(recorded, 'retry'));
    await this.reschedule(tx, ofType(recorded, 'reschedule'));
    await this.park(tx, ofType(recorded, 'park'));
  }

  /** Writes a new wake-up for each of these rows, whose next time is too far ahead for the process to hold the delivery. */
  async wakeLater(tx: EntityManager, next: readonly NextWakeUp[]): Promise<void> {
    const { kind, outbox } = this.deps;
    announceAfterCommit(
      tx,
      next.map(({ key, generation, due_ms: dueAtMs }) => ({ kind, key, generation, dueAtMs })),
    );
    if (!this.deps.writesWakeUps) return;
    await outbox.append(
      tx,
      next.map(({ key, generation, due_ms: dueMs }) => ({
        id: uuidv7(),
        route: 'wake-up' as const,
        routingKey: kind,
        body: wakeUpBody(kind, key, generation, dueMs),
        deliverAtMs: Math.ceil(dueMs),
      })),
    );
  }

  private async retry(tx: EntityManager, retried: readonly OfType<'retry'>[]): Promise<void> {
    if (retried.length === 0) return;
    const [rows] = await tx.query<[NextWakeUp[], number]>(this.deps.queries.retry, [
      this.deps.kind,
      ...identities(retried),
      retried.map(({ outcome }) => outcome.attempts),
      retried.map(({ outcome }) => storableReason(outcome.reason)),
      retried.map(({ outcome }) => outcome.afterMs),
      retried.map(({ outcome }) => outcome.unasked ?? false),
    ]);
    await this.wakeLater(tx, rows);
  }

  private async reschedule(tx: EntityManager, moved: readonly OfType<'reschedule'>[]): Promise<void> {
    if (moved.length === 0) return;
    const [rows] = await tx.query<[NextWakeUp[], number]>(this.deps.queries.reschedule, [
      this.deps.kind,
      ...identities(moved),
      moved.map(({ outcome }) => outcome.dueAt.toISOString()),
    ]);
    await this.wakeLater(tx, rows);
  }

  private async park(tx: EntityManager, parked: readonly OfType<'park'>[]): Promise<void> {
    if (parked.length === 0) return;
    const { kind, queries, outbox } = this.deps;
    const [rows] = await tx.query<[{ key: string; occurred_at: Date }[], number]>(queries.park, [
      kind,
      ...identities(parked),
      parked.map(({ outcome }) => outcome.attempts),
      parked.map(({ outcome }) => storableReason(outcome.reason)),
    ]);
    const parkedAt = new Map(rows.map((row) => [row.key, row.occurred_at]));
    await outbox.append(
      tx,
      parked.flatMap((item) => {
        const occurredAt = parkedAt.get(item.row.key);
        return occurredAt ? [parkedEvent(kind, item, occurredAt)] : [];
      }),
    );
  }
}

function parkedEvent(kind: string, { row, outcome }: OfType<'park'>, occurredAt: Date): OutboxEntry {
  const id = uuidv7();
  const { key, generation, traceparent } = row;
  const { attempts, reason } = outcome;
  const event = { id, type: 'timeout.parked', version: 1, occurredAt: occurredAt.toISOString() };
  return {
    id,
    route: 'event',
    routingKey: 'timeout.parked',
    body: { ...event, kind, key, generation, attempts, reason: storableReason(reason) },
    traceparent: traceparent ?? undefined,
  };
}

function ofType<T extends ResolvedOutcome['type']>(recorded: readonly Recorded[], type: T): OfType<T>[] {
  return recorded.filter((item): item is OfType<T> => item.outcome.type === type);
}

function identities(recorded: readonly Recorded[]): [string[], string[]] {
  return [recorded.map(({ row }) => row.key), recorded.map(({ row }) => row.generation)];
}
