import { type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { type Command } from 'commander';
import { type DataSource } from 'typeorm';
import { Presets, SingleBar } from 'cli-progress';
import { PinoLogger } from '../operations';
import { type Environment, loadCommandConfig, openCommandContext, openDatabase, type ServiceConfig } from '../service';
import { CodedError } from '../errors';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../timeouts';

/** Options of every command. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  /** Only of those that change something. */
  readonly dryRun?: boolean;
}

/** The database and the schema of the service. */
export function targetOf(context: INestApplicationContext): ResolvedTimeoutsOptions {
  return context.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS);
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

  /** The same for a command that needs the use cases of the service. */
  acts<A extends unknown[], O extends CommonOptions>(
    command: Command,
    work: (context: INestApplicationContext, options: O, ...args: A) => Promise<Report>,
  ): Command {
    return this.does<A, O>(command, async (options, ...args) => {
      const config = loadCommandConfig(this.environment, ['DATABASE_URL']);
      const context = await openCommandContext(config, this.logger(options.verbose ?? false));
      try {
        return await work(context, options, ...args);
      } finally {
        await context.close();
      }
    });
  }

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

/**
 * How a command ended.
 * - 0: done; the doctor has found nothing.
 * - 1: the doctor has found warnings only.
 * - 2: the doctor has found errors; another command was refused, has failed, or was called with wrong arguments.
 */
export const EXIT = { ok: 0, warnings: 1, failed: 2 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface Report {
  /** For programs: printed as JSON with `--json`. */
  readonly data: unknown;
  /** For people. */
  readonly text: string;
  /** @default 0 */
  readonly exitCode?: ExitCode;
}

/** Where a command writes. Tests give one of their own. */
export interface Terminal {
  /** The result: a table for people, or one JSON document. */
  out(text: string): void;
  /** Progress, logs, and errors. */
  err(text: string): void;
  /** Whether a person watches the errors, so that a progress bar makes sense. */
  readonly isInteractive: boolean;
}

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isInteractive: process.stderr.isTTY,
};

interface Progress {
  /** How much is done, of the total. */
  at(done: number): void;
  stop(): void;
}

const NONE: Progress = { at: () => undefined, stop: () => undefined };

/** Shows a bar on standard error while a person watches. */
export function startProgress(terminal: Terminal, what: string, total: number): Progress {
  if (!terminal.isInteractive || total === 0) return NONE;
  const format = `${what} {bar} {value}/{total} | {eta_formatted}`;
  const bar = new SingleBar({ format, hideCursor: true, stream: process.stderr }, Presets.shades_classic);
  bar.start(total, 0);
  return { at: (done) => bar.update(Math.min(done, total)), stop: () => bar.stop() };
}

/** A command would do harm, or lacks something. Nothing was changed. */
export class CommandRefusedError extends CodedError {
  constructor(sentence: string) {
    super('COMMAND_REFUSED', sentence);
  }
}
