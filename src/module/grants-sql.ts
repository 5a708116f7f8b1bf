import { serviceRights, validateSchemaName } from '../database';
import { PAYMENT_NAME_KEY } from '../orders';

/**
 * Who works with the tables.
 * - `owner`: creates and migrates them.
 * - `service`: runs with `migrate: false`.
 * - `reporting`: reads only.
 */
export const DATABASE_ROLES = ['owner', 'service', 'reporting'] as const;

export type DatabaseRole = (typeof DATABASE_ROLES)[number];

export interface GrantsRequest {
  readonly schema: string;
  readonly role: DatabaseRole;
  /** The database user, as SQL text; see `quoteIdentifier`. */
  readonly to: string;
  /** The owner of the tables, likewise. Tables of later migrations are granted too if it is given. */
  readonly owner?: string | undefined;
}

/** The statements that give a database user what its role needs, and nothing else. The owner of the tables runs them. */
export function grantsSql({ schema, role, to, owner }: GrantsRequest): string[] {
  validateSchemaName(schema);
  switch (role) {
    case 'owner':
      return [`CREATE SCHEMA IF NOT EXISTS ${schema} AUTHORIZATION ${to};`];
    case 'service':
      return [...serviceRights(schema, to), ...laterTables(schema, to, owner, 'SELECT, INSERT, UPDATE, DELETE', true)];
    case 'reporting':
      return [
        `GRANT USAGE ON SCHEMA ${schema} TO ${to};`,
        `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${to};`,
        // With the key, names of erased payments could be guessed and compared with their hashes.
        `REVOKE SELECT ON ${schema}.${PAYMENT_NAME_KEY} FROM ${to};`,
        ...laterTables(schema, to, owner, 'SELECT', false),
      ];
  }
}

function laterTables(schema: string, to: string, owner: string | undefined, rights: string, writes: boolean): string[] {
  if (owner === undefined) return [];
  const begin = `ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA ${schema}`;
  const others = ['USAGE ON SEQUENCES', 'EXECUTE ON FUNCTIONS'].map((right) => `${begin} GRANT ${right} TO ${to};`);
  return [`${begin} GRANT ${rights} ON TABLES TO ${to};`, ...(writes ? others : [])];
}
