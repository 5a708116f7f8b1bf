import { type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { type Command } from 'commander';
import { type DataSource } from 'typeorm';
import { PinoLogger } from '../operations';
import { type Environment, loadCommandConfig, openCommandContext, openDatabase, type ServiceConfig } from '../service';
import { EXIT, type ExitCode, type Report } from './report';
import { type Terminal } from './terminal';

/** Options of every command. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
}

/** What the commands have in common: where they read their configuration, and how their results are shown. */
export class Cli {
  private code: ExitCode = EXIT.ok;

  constructor(
    readonly environment: Environment,
    readonly terminal: Terminal,
  ) {}

  get exitCode(): ExitCode {
    return this.code;
  }

  /** Makes `work` the action of a command. It gets the arguments and the options, as the command has parsed them. */
  does<A extends unknown[], O extends CommonOptions>(
    command: Command,
    work: (options: O, ...args: A) => Promise<Report>,
  ): Command {
    return command.action(async () => {
      const options = command.optsWithGlobals<O>();
      this.show(await work(options, ...(command.processedArgs as A)), options);
    });
  }

  /** Runs `work` with the use cases of the service. */
  async withUseCases<T>(
    { verbose = false }: CommonOptions,
    work: (context: INestApplicationContext, config: ServiceConfig) => Promise<T>,
  ): Promise<T> {
    const config = loadCommandConfig(this.environment, ['DATABASE_URL']);
    const context = await openCommandContext(config, this.logger(verbose));
    try {
      return await work(context, config);
    } finally {
      await context.close();
    }
  }

  /** Runs `work` with a connection to the database. */
  async withDatabase<T>(work: (dataSource: DataSource, config: ServiceConfig) => Promise<T>): Promise<T> {
    const config = loadCommandConfig(this.environment, ['DATABASE_URL']);
    const dataSource = await openDatabase(config.database);
    try {
      return await work(dataSource, config);
    } finally {
      await dataSource.destroy();
    }
  }

  /** Standard output is for the result alone. An error that ends the command is told by runCli. */
  private logger(verbose: boolean): LoggerService {
    return new PinoLogger(verbose ? 'info' : 'silent', { write: (line) => this.terminal.err(line) });
  }

  private show({ data, text, exitCode = EXIT.ok }: Report, { json = false }: CommonOptions): void {
    this.code = exitCode;
    this.terminal.out(json ? `${JSON.stringify(data, null, 2)}\n` : text);
  }
}
