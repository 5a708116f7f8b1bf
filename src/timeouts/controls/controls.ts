import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { z } from 'zod';
import { type Clock, PollingLoop } from '../../clock';
import { ownQuery, ownTransaction } from '../../database';
import { parseJson } from '../../errors';
import { EngineSettings } from '../message-path/wake-up-republisher';

interface Dependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
}

/** A change by an operator. What is absent stays as it is. */
export interface ControlChange {
  readonly pause?: boolean;
  /** Calls per second. Null: what is configured. */
  readonly perSecond?: number | null;
}

/** How long another instance may take to follow. */
const INTERVAL_MS = 2_000;

const PREFIX = 'control:';

/**
 * What operators have paused or limited. It is stored, so all instances follow, and a restart changes nothing. While the
 * database does not answer, what was read last stays in force.
 */
export class Controls {
  private readonly logger = new Logger(Controls.name);
  private readonly settings: EngineSettings;
  private readonly loop: PollingLoop;
  private readonly listeners: (() => void)[] = [];
  private inForce: ReadonlyMap<string, Control> = new Map();
  /** The kinds and providers that are paused, as `kind:…` and `provider:…`. Timeouts of these kinds must wait. */
  paused: ReadonlySet<string> = new Set();

  constructor(
    private readonly deps: Dependencies,
    private readonly clock: Clock,
  ) {
    this.settings = new EngineSettings(deps.schema);
    this.loop = new PollingLoop(clock, { name: 'controls', runOnce: () => this.refresh(), intervalMs: INTERVAL_MS });
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  of(subject: ControlSubject): Control {
    return this.inForce.get(subject) ?? NO_CONTROL;
  }

  /** Stores a change, and follows it. Other instances follow within about two seconds. */
  async change(
    subject: ControlSubject,
    { pause, perSecond }: ControlChange,
    { by, reason }: { readonly by: string; readonly reason: string },
  ): Promise<Control> {
    const why = { by, reason, at: new Date(this.clock.now()) };
    const value = {
      ...(pause === undefined ? {} : { pause: pause ? why : null }),
      ...(perSecond === undefined ? {} : { limit: perSecond === null ? null : { ...why, perSecond } }),
    };
    const control = await this.store(`${PREFIX}${subject}`, value);
    this.logger.warn(`operator "${by}" changed ${subject} to ${JSON.stringify({ pause, perSecond })}: ${reason}`);
    await this.refresh();
    return control;
  }

  /** Two changes at the same time both stay. A row that cannot be read is replaced, or the change would not be in force. */
  private store(name: `control:${ControlSubject}`, change: Partial<Control>): Promise<Control> {
    return ownTransaction(this.deps.dataSource, async (tx) => {
      const control: Control = { ...readControl(await this.settings.lock(tx, name)), ...change };
      await this.settings.write(tx, name, JSON.stringify(control));
      return control;
    });
  }

  /** Reads what is in force. @throws if the database does not answer. */
  async refresh(): Promise<void> {
    const read = await readControls(this.deps.dataSource, this.deps.schema);
    const before = this.inForce;
    this.inForce = read;
    this.paused = new Set([...read].flatMap(([subject, { pause }]) => (pause ? [subject] : [])));
    const names = [...new Set([...read.keys(), ...before.keys()])];
    const changed = names.filter((name) => !isSame(read.get(name), before.get(name)));
    for (const name of changed) this.logger.warn(sentenceOf(name, read.get(name)));
    if (changed.length > 0) for (const listener of this.listeners) listener();
  }
}

export async function readControls(dataSource: DataSource, schema: string): Promise<ReadonlyMap<string, Control>> {
  const sql = `SELECT name, value FROM ${schema}.engine_setting WHERE starts_with(name, '${PREFIX}') ORDER BY name`;
  const rows = await ownQuery<{ name: string; value: string }[]>(dataSource, sql);
  return new Map(rows.map(({ name, value }) => [name.slice(PREFIX.length), readControl(value)]));
}

function isSame(one = NO_CONTROL, other = NO_CONTROL): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function sentenceOf(name: string, { pause, limit } = NO_CONTROL): string {
  const paused = pause ? `paused by ${pause.by} (${pause.reason})` : 'not paused';
  const limited = limit ? `, limited to ${limit.perSecond} calls per second by ${limit.by} (${limit.reason})` : '';
  return `${name} is ${paused}${limited}`;
}

/** What an operator can stop: a kind of timeouts, or a payment provider. */
type ControlSubject = `kind:${string}` | `provider:${string}`;

export interface ControlReason {
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** What is in force for a subject. Null: nothing. */
export interface Control {
  readonly pause: ControlReason | null;
  /** Calls per second for each merchant account. Only of providers. */
  readonly limit: (ControlReason & { readonly perSecond: number }) | null;
}

/** What is in force where nobody has done anything. */
export const NO_CONTROL: Control = { pause: null, limit: null };

const reason = { by: z.string(), reason: z.string(), at: z.iso.datetime().transform((text) => new Date(text)) };

/** Fields of a later release stay. */
const schema = z.looseObject({
  pause: z.object(reason).nullable().default(null),
  limit: z
    .object({ ...reason, perSecond: z.number().positive() })
    .nullable()
    .default(null),
});

/** Reads a row. What cannot be read is not in force, or a later release could stop this one. */
export function readControl(value: string): Control {
  return schema.safeParse(parseJson(value)).data ?? NO_CONTROL;
}
