import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { scriptAnswers } from './script-answers';

interface Access {
  readonly databaseUrl: string;
  readonly urls: readonly [string, string];
  readonly primaryUrl: string;
}

interface ClusterEvent extends Access {
  readonly event: 'done' | 'error';
  readonly command: string;
}

/** A PostgreSQL primary and its standby with synchronous replication: what is committed is on both disks. */
export interface ReplicatedDatabase {
  /** Names both servers, with `target_session_attrs=read-write`. */
  readonly databaseUrl: string;
  /** Of each server alone; they stay the same, whichever is the primary. */
  readonly urls: readonly [string, string];
  /** Of the one that is the primary now. */
  primaryUrl(): string;
  /** kill -9. */
  killPrimary(): Promise<void>;
  /** In good order. */
  stopPrimary(): Promise<void>;
  /** Makes the standby the primary, once the old one is down. It waits for no standby until `rejoin`. */
  promote(): Promise<void>;
  /** The server that is down becomes the standby; resolves when commits wait for it. */
  rejoin(): Promise<void>;
  /** Ends both for good and removes their data. */
  close(): Promise<void>;
}

/** Starts both through scripts/replicated-database.mjs (3 s), in a folder that it removes at the end. */
export async function startReplicatedDatabase(): Promise<ReplicatedDatabase> {
  const script = join(__dirname, '../../scripts/replicated-database.mjs');
  const child = spawn(process.execPath, [script], { stdio: 'pipe' });
  const exited = once(child, 'exit');
  const answers = scriptAnswers<ClusterEvent>(child, 'the replicated database');
  let access: Access = await answers.next();
  const tell = async (command: string): Promise<void> => {
    child.stdin.write(`${command}\n`);
    access = await answers.next();
  };
  const { databaseUrl, urls } = access;
  return {
    databaseUrl,
    urls,
    primaryUrl: () => access.primaryUrl,
    killPrimary: () => tell('kill-primary'),
    stopPrimary: () => tell('stop-primary'),
    promote: () => tell('promote'),
    rejoin: () => tell('rejoin'),
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
