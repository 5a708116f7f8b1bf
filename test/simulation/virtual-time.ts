import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { performance } from 'node:perf_hooks';
import { V7Generator } from 'uuidv7';
import { present } from '../../src/errors';
import { Random } from '../model/random';

/** Who runs: an instance of the service. People, banks, and the broker have none. */
export interface Actor {
  readonly name: string;
  /** False: it crashed. Its timers and statements are gone, and nothing that it awaits ever comes. */
  isAlive: boolean;
  /** Until then it neither runs nor sends. */
  stalledUntil: number;
  /** How far the clock of its machine is ahead of PostgreSQL's, milliseconds. */
  readonly skewMs: number;
}

export const acting = new AsyncLocalStorage<Actor>();

/** The clocks and timers of the process, which wait for PostgreSQL. */
export const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  monotonic: performance.now.bind(performance),
  Date: globalThis.Date,
};

interface PendingTimer {
  readonly id: number;
  at: number;
  readonly actor: Actor | undefined;
  readonly everyMs: number | undefined;
  readonly run: () => void;
}

/** Takes the place of the process's clocks and timers. It stands still until somebody moves it. */
export class VirtualTime {
  /** Timers fire at its multiples, milliseconds: what happens at one instant can happen at the same time. */
  gridMs = 1;
  private readonly timers = new Map<number, PendingTimer>();
  private ids = 0;
  private readonly startedAt: number;

  /**
   * @param current epoch milliseconds
   * @param lateness how late a timer of an instance fires, by what it waits for. A busy process is late.
   */
  constructor(
    private current: number,
    private readonly lateness: (ms: number) => number,
  ) {
    this.startedAt = current;
  }

  get now(): number {
    return this.current;
  }

  /** When the next timer fires. */
  get next(): number {
    let at = Infinity;
    for (const timer of this.timers.values()) at = Math.min(at, whenOf(timer));
    return at;
  }

  moveTo(at: number): void {
    if (at > this.current) this.current = at;
  }

  /** One of the timers that are due now. */
  takeDue(random: Random): (() => void) | undefined {
    const due = [...this.timers.values()].filter((timer) => whenOf(timer) <= this.current);
    const timer = random.oneOf(due);
    if (!timer) return undefined;
    if (timer.everyMs === undefined) this.timers.delete(timer.id);
    else timer.at = this.instantIn(timer.everyMs, timer.actor);
    return () => (timer.actor ? acting.run(timer.actor, timer.run) : timer.run());
  }

  after(ms: number, run: () => void, everyMs?: number): number {
    const id = ++this.ids;
    const actor = acting.getStore();
    if (actor && !actor.isAlive) return id;
    const at = this.instantIn(Math.max(ms, 0), actor);
    this.timers.set(id, { id, at, actor, everyMs, run });
    return id;
  }

  private instantIn(ms: number, actor: Actor | undefined): number {
    const at = this.current + ms + (actor ? this.lateness(ms) : 0);
    return Math.ceil(at / this.gridMs) * this.gridMs;
  }

  cancel(id: number): void {
    this.timers.delete(id);
  }

  /** The timers of one that has crashed. */
  drop(actor: Actor): void {
    for (const timer of this.timers.values()) if (timer.actor === actor) this.timers.delete(timer.id);
  }

  /** Since the world began, milliseconds. */
  get monotonic(): number {
    return this.current - this.startedAt;
  }
}

/** The time of the world that is played. Whoever has taken a clock or timer keeps it from world to world. */
let playing: VirtualTime | undefined;

/** From now on, the process lives in this time. */
export function liveIn(time: VirtualTime): void {
  if (!playing) takeTime();
  playing = time;
}

function takeTime(): void {
  const time = (): VirtualTime => present(playing, 'a world');
  const wall = (): number => Math.floor(time().now + (acting.getStore()?.skewMs ?? 0));
  const set =
    (isRepeated: boolean) =>
    (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): object =>
      handleOf(time().after(ms, () => run(...args), isRepeated ? Math.max(ms, 1) : undefined));
  const clear = (timer: unknown): void => time().cancel(idOf(timer));
  Object.assign(globalThis, {
    ...{ setTimeout: set(false), clearTimeout: clear, setInterval: set(true), clearInterval: clear },
    Date: dateAt(wall),
  });
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    time().after(ms, () =>
      controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    );
    return controller.signal;
  };
  Object.defineProperty(performance, 'now', { value: () => time().monotonic, configurable: true });
}

function whenOf({ at, actor }: PendingTimer): number {
  return Math.max(at, actor?.stalledUntil ?? 0);
}

function handleOf(id: number): object {
  const handle = { id, ref: () => handle, unref: () => handle, hasRef: () => true, [Symbol.toPrimitive]: () => id };
  return handle;
}

function idOf(timer: unknown): number {
  return typeof timer === 'object' && timer !== null ? (timer as { id: number }).id : Number(timer);
}

/** The class Date of a process whose wall clock says `wall`. */
function dateAt(wall: () => number): DateConstructor {
  return new Proxy(real.Date, {
    construct: (target, args: unknown[]) => Reflect.construct(target, args.length === 0 ? [wall()] : args) as object,
    apply: () => new real.Date(wall()).toString(),
    get: (target, name) => (name === 'now' ? wall : (Reflect.get(target, name) as unknown)),
  });
}

/** Draws for the world that is played. Whoever has taken one of the functions below keeps it from world to world. */
let source: (() => Random) | undefined;

/** Ids are sorted by time, and those of one millisecond are counted. Nothing is left of the last world. */
let ids: V7Generator | undefined;

/**
 * Ids and jitter come from the seed and the step, too: libraries that keep some for later do not change what follows.
 *
 * @param steps of the world so far
 */
export function seedRandomness(seed: number, steps: () => number): void {
  if (!source) takeRandomness();
  let random = new Random(seed);
  let step = -1;
  const draw = (): Random => {
    if (step !== steps()) random = new Random(seed + (step = steps()) * STEP);
    return random;
  };
  source = draw;
  ids = new V7Generator({ nextUint32: () => draw().between(0, 2 ** 32 - 1) });
}

/** What it draws, the world does not miss. */
export async function withoutDraws<T>(work: () => Promise<T>): Promise<T> {
  const drawing = source;
  const random = new Random(0);
  if (drawing) source = () => random;
  try {
    return await work();
  } finally {
    source = drawing;
  }
}

/** Far from the next seed. */
const STEP = 1_000_003;

function takeRandomness(): void {
  const draw = (): Random => present(source, 'a world')();
  Math.random = () => draw().next();
  const fill = <T extends NodeJS.ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = draw().between(0, 255);
    return view;
  };
  const randomUUID = (): string => uuidOf(fill(Buffer.alloc(16)).toString('hex'));
  const randomBytes = (size: number): Buffer => fill(Buffer.alloc(size));
  // The modules' own objects: an import is a copy of them.
  Object.assign(createRequire(__filename)('uuidv7') as object, {
    uuidv7: () => present(ids, 'a world').generate().toString(),
  });
  Object.assign(createRequire(__filename)('node:crypto') as object, { randomFillSync: fill, randomUUID, randomBytes });
  for (const [name, value] of Object.entries({ getRandomValues: fill, randomUUID }))
    Object.defineProperty(globalThis.crypto, name, { value, configurable: true });
  syncBuiltinESMExports();
}

function uuidOf(hex: string): string {
  const part = (from: number, to: number): string => hex.slice(from, to);
  return `${part(0, 8)}-${part(8, 12)}-4${part(13, 16)}-a${part(17, 20)}-${part(20, 32)}`;
}
