import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectTo } from '../../support/database';
import { until } from '../../support/engine';
import { type Newcomer } from './newcomer';
import { type Terminal } from './terminal';

const RESTART_LIMIT_MS = 60_000;
/** The broker reports connections and consumers every five seconds. */
const REPORT_LIMIT_MS = 20_000;

/** The application of README.md under `nest start --watch`. */
export class WatchedHost {
  private constructor(
    private readonly newcomer: Newcomer,
    private readonly terminal: Terminal,
  ) {}

  static async start(newcomer: Newcomer, port: number): Promise<WatchedHost> {
    const terminal = newcomer.open({ port, folder: newcomer.shop });
    const host = new WatchedHost(newcomer, terminal);
    // Enough for a look at the broker, and for a restart.
    host.edit('app.module.ts', '5_000', '20_000');
    terminal.start('npx nest start --watch');
    await terminal.shows(/first-\d+ is placed/, RESTART_LIMIT_MS);
    return host;
  }

  /**
   * Changes a file while an order waits. Resolves when the next process has closed that order and said so as `says`, and
   * nothing of the former process is left on the servers.
   */
  async change(file: string, from: string, to: string, { says }: { says: string }): Promise<void> {
    const placed = [...this.terminal.output.matchAll(/first-\d+(?= is placed)/g)].at(-1)?.[0] ?? 'none';
    await until(async () => (await this.mostConsumersOfQueue()) === 1, REPORT_LIMIT_MS);
    const former = await this.connections();
    expect(former.length).toBeGreaterThan(0);
    this.edit(file, from, to);
    const story = [`${placed} is placed`, 'Starting Nest application', `${placed} ${says}$`];
    await this.terminal.shows(new RegExp(story.join('[\\s\\S]*'), 'm'), RESTART_LIMIT_MS);
    await until(async () => (await this.connections()).every((one) => !former.includes(one)), REPORT_LIMIT_MS);
    await until(async () => (await this.mostConsumersOfQueue()) === 1, REPORT_LIMIT_MS);
  }

  private edit(file: string, from: string, to: string): void {
    const path = join(this.newcomer.shop, 'src', file);
    const source = readFileSync(path, 'utf8');
    expect(source).toContain(from);
    writeFileSync(path, source.replace(from, to));
  }

  /** What identifies each connection of the application to the broker and to the database. */
  private async connections(): Promise<string[]> {
    const { vhost, databaseUrl } = this.newcomer;
    const toBroker = await vhost.manage<{ name: string }[]>('GET', `/vhosts/${vhost.name}/connections`);
    const database = await connectTo(databaseUrl, 1);
    try {
      const sql = `SELECT pid || ' since ' || backend_start AS name FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
      const toDatabase = await database.query<{ name: string }[]>(sql);
      return [...toBroker, ...toDatabase].map(({ name }) => name);
    } finally {
      await database.destroy();
    }
  }

  private async mostConsumersOfQueue(): Promise<number> {
    const { vhost } = this.newcomer;
    const consumers = await vhost.manage<{ queue: { name: string } }[]>('GET', `/consumers/${vhost.name}`);
    const names = consumers.map(({ queue }) => queue.name);
    return Math.max(...names.map((name) => names.filter((other) => other === name).length));
  }
}
