import { OwnServer, SERVER } from './own-server';

/** A PostgreSQL primary and its standby with synchronous replication: what is committed is on both disks. */
export class ReplicatedDatabase extends OwnServer {
  /** Takes 3 s. */
  static open(): Promise<ReplicatedDatabase> {
    return new ReplicatedDatabase(SERVER, ['replicated']).ready();
  }

  /** Names both servers, with `target_session_attrs=read-write`. */
  get databaseUrl(): string {
    return this.text('databaseUrl');
  }

  /** Of each server alone; they stay the same, whichever is the primary. */
  get urls(): readonly string[] {
    return this.told('urls') as readonly string[];
  }

  /** Of the one that is the primary now. */
  get primaryUrl(): string {
    return this.text('primaryUrl');
  }

  /** kill -9. */
  killPrimary(): Promise<void> {
    return this.tell('kill-primary');
  }

  /** In good order. */
  stopPrimary(): Promise<void> {
    return this.tell('stop-primary');
  }

  startPrimary(): Promise<void> {
    return this.tell('start-primary');
  }

  /** The one that was replaced runs again, as it was. */
  startOldPrimary(): Promise<void> {
    return this.tell('start-old-primary');
  }

  /** kill -9: the primary's commits wait for it. */
  killStandby(): Promise<void> {
    return this.tell('kill-standby');
  }

  /** Makes the standby the primary, even if it was killed, once the old one is down. It waits for no standby until `rejoin`. */
  promote(): Promise<void> {
    return this.tell('promote');
  }

  /** The server that is down becomes the standby; resolves when commits wait for it. */
  rejoin(): Promise<void> {
    return this.tell('rejoin');
  }
}
