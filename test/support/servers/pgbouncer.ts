import { OwnServer, SERVER } from './own-server';

/** A PgBouncer that pools by transaction. */
export class Pgbouncer extends OwnServer {
  /** Before the server of these URLs, each with a login that may use it. */
  static open(...urls: readonly string[]): Promise<Pgbouncer> {
    return new Pgbouncer(SERVER, ['pgbouncer'], { DATABASE_URLS: urls.join() }).ready();
  }

  /** The same login and database by way of it. */
  through(url: string): string {
    const changed = new URL(url);
    changed.host = this.text('address');
    return changed.href;
  }
}
