import { DataSource } from 'typeorm';
import { RunError } from '../../../test/harness/run-error';

/** A database that only this run knows. */
export class DemoDatabase {
  readonly url: string;

  constructor(
    private readonly serverUrl: string,
    private readonly name: string,
  ) {
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    this.url = url.toString();
  }

  /** @throws RunError when the server is unavailable, or refuses. */
  async create(): Promise<void> {
    await this.onServer(`CREATE DATABASE ${this.name}`).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new RunError(
        `no database could be made on the server of DATABASE_URL (${reason}); is it up, and may its user create databases?`,
      );
    });
  }

  async drop(): Promise<void> {
    await this.onServer(`DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
  }

  private async onServer(sql: string): Promise<void> {
    const server = await new DataSource({ type: 'postgres', url: this.serverUrl, poolSize: 1 }).initialize();
    try {
      await server.query(sql);
    } finally {
      await server.destroy();
    }
  }
}
