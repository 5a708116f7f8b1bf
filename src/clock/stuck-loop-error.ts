import { CodedError } from '../errors';

/** A run of a loop neither ended nor failed. It is left behind, and the loop goes on. */
export class StuckLoopError extends CodedError {
  constructor(name: string, limitMs: number) {
    super(
      'LOOP_STUCK',
      `a run of the loop ${name} has not ended within ${limitMs} ms and is left behind; look for a handler or a connection ` +
        'that does not answer',
    );
  }
}
