import { stackDirectory } from './paths.mjs';

/**
 * @typedef {{ remedy?: string | undefined, logTail?: string[] | undefined, logFile?: string | undefined,
 *   cause?: unknown }} SetupErrorDetails
 */

/**
 * A set-up step that cannot go on. `code` is stable, `remedy` is what the reader can do about it.
 */
export class SetupError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {SetupErrorDetails} [details]
   */
  constructor(code, message, { remedy, logTail, logFile, cause } = {}) {
    super(message, { cause });
    this.name = 'SetupError';
    this.code = `SETUP/${code}`;
    this.remedy = remedy;
    this.logTail = logTail ?? [];
    this.logFile = logFile;
  }
}

/** @param {unknown} error @returns {string[] | undefined} the end of the log, where the error has one */
export const logTailOf = (error) => (error instanceof SetupError ? error.logTail : undefined);

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * The whole story for a terminal: what happened, how to fix it, and the end of the log.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function describeError(error) {
  if (isForeignFile(error)) return describeError(foreignFile(error));
  if (!(error instanceof SetupError)) return String(error instanceof Error ? (error.stack ?? error.message) : error);
  const lines = [`${error.code}: ${error.message}`];
  if (error.logTail.length > 0) lines.push('  last lines of the log:', ...error.logTail.map((line) => `  | ${line}`));
  if (error.logFile) lines.push(`  whole log: ${error.logFile}`);
  if (error.remedy) lines.push(`  what to do: ${error.remedy}`);
  return lines.join('\n');
}

/** Files that an earlier run left as another user. @param {unknown} error @returns {error is { path: string }} */
const isForeignFile = (error) =>
  !(error instanceof SetupError) &&
  (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM') &&
  typeof error === 'object' &&
  error !== null &&
  'path' in error &&
  typeof error.path === 'string' &&
  error.path.startsWith(stackDirectory);

const foreignFile = (/** @type {{ path: string }} */ error) =>
  new SetupError('FOREIGN_FILES', `${error.path} belongs to another user`, {
    remedy: `run this as the user who ran it before, or let that user run: npm run stack -- reset --all`,
    cause: error,
  });

/** @param {unknown} error @returns {string | undefined} `ENOENT` and its kind, or the code of a SetupError */
export function codeOf(error) {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
