import { CodedError } from '../errors';

/** A run of a loop neither ended nor failed. The loop continues without it. */
export class StuckLoopError extends CodedError {
  constructor(name: string, limitMs: number) {
    super(
      'LOOP_STUCK',
      `a run of the loop ${name} did not end within ${limitMs} ms, so the loop continues without it; look for a handler or ` +
        'a connection that does not respond',
    );
  }
}
