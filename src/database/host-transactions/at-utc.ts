import { type Queryable } from './transaction';

type Query = Queryable['query'];

const READ_ZONE = `SELECT current_setting('TimeZone') AS zone`;
const SET_ZONE = `SELECT set_config('TimeZone', $1, true)`;
const OF_SAVEPOINT = /^\s*(SAVEPOINT|RELEASE|ROLLBACK|DECLARE|CLOSE)\b/i;
const IS_UTC = /^(Etc\/)?(UTC|GMT)$/i;

/**
 * Runs each statement at UTC, for a library that drops the offset of instants which it reads. The session then has its own
 * time zone again. After a failed statement the host's rollback, or that of the savepoint, brings it back.
 */
export function atUtc(query: Query): Query {
  let zone: Promise<string> | undefined;
  return async (sql, parameters) => {
    if (OF_SAVEPOINT.test(sql)) return query(sql, parameters);
    zone ??= readZone(query);
    const own = await zone;
    if (IS_UTC.test(own)) return query(sql, parameters);
    await query(SET_ZONE, ['UTC']);
    const result = await query(sql, parameters);
    await query(SET_ZONE, [own]);
    return result;
  };
}

async function readZone(query: Query): Promise<string> {
  const [row] = (await query(READ_ZONE)).rows as readonly { readonly zone: string }[];
  return row?.zone ?? '';
}
