import 'reflect-metadata';
// Before the files that it changes are loaded.
import './weaken';
import { openPlace, type Place } from './place';
import { real } from './virtual-time';
import { playWorld, START_MS } from './world';

/** What the parent asks for: one world, or the end. */
export type Request = WorldRequest | 'end';

export interface WorldRequest {
  readonly seed: number;
  readonly isTraced: boolean;
  /** Who does nothing in it. */
  readonly absent?: readonly string[];
}

/** A world takes seconds, also on a busy machine. Real milliseconds. */
const LIMIT_MS = 300_000;

const [name = ''] = process.argv.slice(2);

/** Whoever gives up waiting makes an error, which would take long with a stack. */
const STACK = 10;

/** A process that lives in one world after the other, because its clocks are those of the worlds. */
async function play(place: Place, request: Request): Promise<void> {
  if (request === 'end') {
    await place.drop();
    process.exit(0);
  }
  Error.stackTraceLimit = request.isTraced ? STACK : 0;
  const endless = real.setTimeout(() => fail(new Error(`world ${request.seed} does not end`)), LIMIT_MS);
  const story = await playWorld(request.seed, place, request.absent);
  real.clearTimeout(endless);
  process.send?.({ ...story, trace: request.isTraced ? story.trace : [] });
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? String(error.stack) : String(error)}\n`);
  process.exit(2);
}

// The end of the parent is the end of all.
process.on('disconnect', () => process.exit(3));

openPlace(name, START_MS).then((place) => {
  process.on('message', (request: Request) => void play(place, request).catch(fail));
  process.send?.('ready');
}, fail);
