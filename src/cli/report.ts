/**
 * How a command ended.
 * - 0: done; the doctor has found nothing.
 * - 1: the doctor has found warnings only.
 * - 2: the doctor has found errors; another command was refused, has failed, or was called with wrong arguments.
 */
export const EXIT = { ok: 0, warnings: 1, failed: 2 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The result of a command. */
export interface Report {
  /** For programs: printed as JSON with `--json`. */
  readonly data: unknown;
  /** For people. */
  readonly text: string;
  /** @default 0 */
  readonly exitCode?: ExitCode;
}
