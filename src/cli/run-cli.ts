import { CommanderError } from 'commander';
import { CodedError } from '../errors';
import { type Environment } from '../service';
import { Cli } from './cli';
import { createProgram } from './create-program';
import { EXIT, type ExitCode } from './report';
import { type Terminal } from './terminal';

/**
 * Runs one command.
 *
 * @param args without the names of Node.js and the program
 */
export async function runCli(args: readonly string[], environment: Environment, terminal: Terminal): Promise<ExitCode> {
  const cli = new Cli(environment, terminal);
  try {
    await createProgram(cli).parseAsync(args, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    // Commander has printed the help, or what is wrong with the arguments.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
    tell(error, args.includes('--json'), terminal);
    return EXIT.failed;
  }
}

function tell(error: unknown, isJson: boolean, terminal: Terminal): void {
  const message = error instanceof Error ? error.message || error.name : String(error);
  terminal.err(`${message}\n`);
  if (!isJson) return;
  const code = error instanceof CodedError ? error.code : undefined;
  terminal.out(`${JSON.stringify({ error: { ...(code && { code }), message } }, null, 2)}\n`);
}
