import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { onServer, urlOf } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { copyClone } from './copy-clone';
import { readSteps, type Step } from './readme-steps';
import { Terminal } from './terminal';

const STEP_LIMIT_MS = 150_000;
/** What a shell needs. The rest of our environment comes from npm and Jest, and a person has none of it. */
const KEPT =
  /^(HOME|LANG|TMPDIR|https?_proxy|no_proxy|node_extra_ca_certs|npm_config_(registry|cache|userconfig|cafile))$/i;

interface Reading {
  /** What listens here listens there on 3000. */
  readonly port: number;
  /** What else is replaced in the commands. */
  readonly replace?: Readonly<Record<string, string>>;
  /** The conditions of `only=…` that hold. */
  readonly holds?: readonly string[];
  /** What the program that keeps running prints when the reader may go on. */
  readonly ready: RegExp;
}

/** A person with a clone, an empty database, an empty broker, and the README. */
export class Newcomer {
  private readonly terminals: Terminal[] = [];

  private constructor(
    private readonly clone: string,
    private readonly database: string,
    readonly vhost: TestVhost,
  ) {}

  static async arrive(): Promise<Newcomer> {
    const clone = join(mkdtempSync(join(tmpdir(), 'order-timeout-newcomer-')), 'clone');
    copyClone(clone);
    const database = `ot_test_newcomer_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE DATABASE ${database}`);
    return new Newcomer(clone, database, await createVhost());
  }

  /** The folder of the application that README.md makes. */
  get shop(): string {
    return join(dirname(this.clone), 'shop');
  }

  get databaseUrl(): string {
    return urlOf(this.database);
  }

  /** Does what README.md says below a heading. Resolves to the terminal of its last command. */
  async follow(heading: string, reading: Reading): Promise<Terminal> {
    let terminal = this.open(reading);
    for (const step of readSteps(heading)) {
      if (step.only !== undefined && reading.holds?.includes(step.only) !== true) continue;
      if (terminal.isBusy) terminal = this.open(reading);
      await this.take(step, terminal, reading);
    }
    return terminal;
  }

  private async take({ type, text }: Step, terminal: Terminal, { port, replace, ready }: Reading): Promise<void> {
    const changes = Object.entries({ '127.0.0.1:3000': `127.0.0.1:${port}`, ...replace });
    const commands = changes.reduce((all, [from, to]) => all.replaceAll(from, to), text);
    if (type === 'run') return terminal.run(commands, STEP_LIMIT_MS);
    terminal.start(commands);
    await terminal.shows(ready, STEP_LIMIT_MS);
  }

  /** Opens a terminal, in the clone unless another folder is given. */
  open({ port, folder = this.clone }: { readonly port: number; readonly folder?: string }): Terminal {
    const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name));
    const terminal = new Terminal(folder, {
      ...Object.fromEntries(kept),
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
      // What the tests have downloaded once is not downloaded again.
      ...{ npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' },
      ...{
        npm_config_yes: 'true',
        NO_COLOR: '1',
        DATABASE_URL: this.databaseUrl,
        RABBITMQ_URLS: this.vhost.url,
        PORT: `${port}`,
      },
    });
    this.terminals.push(terminal);
    return terminal;
  }

  async closeTerminals(): Promise<void> {
    for (const terminal of this.terminals.splice(0)) await terminal.close();
  }

  async leave(): Promise<void> {
    await this.closeTerminals();
    await this.vhost.drop();
    await onServer(`DROP DATABASE ${this.database} WITH (FORCE)`);
    rmSync(dirname(this.clone), { recursive: true, force: true, maxRetries: 3 });
  }
}
