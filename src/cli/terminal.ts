/** Where a command writes. Tests give one of their own. */
export interface Terminal {
  /** The result: a table for people, or one JSON document. */
  out(text: string): void;
  /** Progress, logs, and errors. */
  err(text: string): void;
  /** Whether a person watches the errors, so that a progress bar makes sense. */
  readonly isInteractive: boolean;
}

/** The terminal of this process. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isInteractive: process.stderr.isTTY,
};
