import { escapeIdentifier } from 'pg';
import { Command, Option } from 'commander';
import { DATABASE_ROLES, type DatabaseRole, grantsSql } from '../../module';
import { loadCommandConfig } from '../../service';
import { type Cli, type CommonOptions } from '../cli';

interface Options extends CommonOptions {
  readonly role: DatabaseRole;
  readonly to: string;
  readonly owner?: string;
}

/** Prints the rights of a database user. */
export function grantsCommand(cli: Cli): Command {
  const command = new Command('grants')
    .description('print the GRANT statements that a database user needs; connects to nothing')
    .addOption(
      new Option('--role <role>', 'owner: migrates; service: runs with migrate: false; reporting: reads')
        .choices(DATABASE_ROLES)
        .makeOptionMandatory(),
    )
    .requiredOption('--to <user>', 'the database user')
    .option('--owner <user>', 'the owner of the tables: tables of later migrations are granted too');
  return cli.does<[], Options>(command, async ({ role, to, owner }) => {
    const { schema } = loadCommandConfig(cli.environment, []).database;
    const names = { to: escapeIdentifier(to), owner: owner === undefined ? undefined : escapeIdentifier(owner) };
    const statements = grantsSql({ schema, role, ...names });
    return { data: { schema, role, to, statements }, text: `${statements.join('\n')}\n` };
  });
}
