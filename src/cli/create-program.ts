import { Command } from 'commander';
import { type Cli } from './cli';
import { doctorCommand } from './commands/doctor';
import { grantsCommand } from './commands/grants';
import { migrationsCommand } from './commands/migrations';
import { ordersCommand } from './commands/orders';
import { parkedCommand } from './commands/parked';
import { purgeCommand } from './commands/purge';
import { republishCommand } from './commands/republish';
import { sweepCommand } from './commands/sweep';
import { timeoutsCommand } from './commands/timeouts';
import { uninstallCommand } from './commands/uninstall';

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

/** The program `order-timeout`. */
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
