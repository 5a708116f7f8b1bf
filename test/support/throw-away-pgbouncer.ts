import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { scriptAnswers } from './script-answers';

/** A PgBouncer that pools by transaction. */
export interface ThrowAwayPgbouncer {
  /** The same login and database by way of it. */
  through(url: string): string;
  close(): Promise<void>;
}

/** Starts one before the server of these URLs, each with a login that may use it. */
export async function startThrowAwayPgbouncer(urls: readonly string[]): Promise<ThrowAwayPgbouncer> {
  const script = join(__dirname, '../../scripts/pgbouncer.mjs');
  const env = { ...process.env, DATABASE_URLS: urls.join(',') };
  const child = spawn(process.execPath, [script], { stdio: 'pipe', env });
  const exited = once(child, 'exit');
  const { address } = await scriptAnswers<{ event?: string; address: string }>(child, 'PgBouncer').next();
  return {
    through: (url) => {
      const changed = new URL(url);
      changed.host = address;
      return changed.href;
    },
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
