import { Presets, SingleBar } from 'cli-progress';
import { type Terminal } from './terminal';

/** Tells how far a long command is. */
export interface Progress {
  /** How much is done, of the total. */
  at(done: number): void;
  stop(): void;
}

const NONE: Progress = { at: () => undefined, stop: () => undefined };

/** Shows a bar on standard error while a person watches. */
export function startProgress(terminal: Terminal, what: string, total: number): Progress {
  if (!terminal.isInteractive || total === 0) return NONE;
  const format = `${what} {bar} {value}/{total} | {eta_formatted}`;
  const bar = new SingleBar({ format, hideCursor: true, stream: process.stderr }, Presets.shades_classic);
  bar.start(total, 0);
  return { at: (done) => bar.update(Math.min(done, total)), stop: () => bar.stop() };
}
