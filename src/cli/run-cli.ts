import { CommanderError, Command } from 'commander';
import { CodedError, messageOf } from '../errors';
import { type Environment } from '../service';
import { Cli, EXIT, type ExitCode, type Terminal } from './cli';
import { doctorCommand } from './commands/doctor';
import { grantsCommand, migrationsCommand, uninstallCommand } from './commands/schema';
import { ordersCommand } from './commands/orders';
import { parkedCommand } from './commands/parked';
import { purgeCommand, republishCommand, sweepCommand, timeoutsCommand } from './commands/timeouts';

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
  const message = messageOf(error);
  terminal.err(`${message}\n`);
  if (!isJson) return;
  const code = error instanceof CodedError ? error.code : undefined;
  terminal.out(`${JSON.stringify({ error: { ...(code && { code }), message } }, null, 2)}\n`);
}

const COMMANDS = [
  doctorCommand,
  ordersCommand,
  timeoutsCommand,
  parkedCommand,
  sweepCommand,
  republishCommand,
  purgeCommand,
  migrationsCommand,
  grantsCommand,
  uninstallCommand,
];

export function createProgram(cli: Cli): Command {
  const program = new Command('order-timeout')
    .description(
      'Looks after orders, timeouts, tables, and queues. Reads the variables of the service, such as DATABASE_URL.',
    )
    .option('--json', 'print one JSON document instead of text')
    .option('--verbose', 'log to standard error')
    .showHelpAfterError('(--help lists the arguments)');
  for (const create of COMMANDS) program.addCommand(create(cli));
  inherit(program, cli);
  return program;
}

/** Commander gives its settings only to commands that it creates itself. */
function inherit(command: Command, cli: Cli): void {
  const { terminal } = cli;
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.out(text),
    writeErr: (text) => terminal.err(text),
  });
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child, cli);
  }
}
