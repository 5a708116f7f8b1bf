import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../support/buyers/random';
import { SERVICE_LOGIN } from '../stage/service-login';
import { type Fault, type Scene } from './fault';
import { type InjectedFault } from './fault-log';

const ROLE = SERVICE_LOGIN.username;
const RIGHTS = [
  ['orders', 'INSERT'],
  ['orders', 'UPDATE'],
  ['order_history', 'INSERT'],
  ['timeout', 'UPDATE'],
  ['outbox', 'INSERT'],
  ['inventory', 'UPDATE'],
] as const;

/** As after a failover to a server that is no primary: sessions begun meanwhile stay read-only for as long as they live. */
export const turnReadOnly: Fault = async ({ stage, signal }, random, entry) => {
  const ms = random.between(2_000, 20_000);
  entry.says = `for ${ms} ms`;
  const setting = (value: string): Promise<unknown> =>
    stage.database.query(`ALTER DATABASE ${stage.database.name} SET default_transaction_read_only = ${value}`);
  await setting('on');
  try {
    await stage.database.endSessions();
    await sleep(ms, undefined, { signal });
  } finally {
    await setting('off');
    // A client has no way to end the sessions of a pooler.
    if (stage.usesPgbouncer) await stage.database.endSessions();
  }
};

/** Whom the server lets in no more, or lets do less, while sessions that are open go on. */
export const refuseLogins: Fault = (scene, random, entry) =>
  withoutRight(scene, random, entry, {
    says: 'another password',
    take: `ALTER ROLE ${ROLE} PASSWORD 'another'`,
    give: `ALTER ROLE ${ROLE} PASSWORD '${SERVICE_LOGIN.password}'`,
  });

export const limitConnections: Fault = (scene, random, entry) => {
  const limit = random.between(1, 5);
  return withoutRight(scene, random, entry, {
    says: `${limit} connections`,
    take: `ALTER ROLE ${ROLE} CONNECTION LIMIT ${limit}`,
    give: `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`,
  });
};

/** As when an audit table lacks the partition of this month. The trigger stays, and writes nothing afterward. */
const BROKEN_TRIGGER = {
  says: 'a broken trigger on orders',
  take: `
    CREATE TABLE IF NOT EXISTS public.audit (at timestamptz) PARTITION BY RANGE (at);
    GRANT ALL ON public.audit TO ${ROLE};
    CREATE OR REPLACE FUNCTION public.write_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.audit VALUES (now()); RETURN NULL; END $$;
    CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE ON order_timeout.orders
      FOR EACH ROW EXECUTE FUNCTION public.write_audit()`,
  give: `
    CREATE OR REPLACE FUNCTION public.write_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
};

export const revokeRight: Fault = (scene, random, entry) => {
  const revoked = RIGHTS[random.between(0, RIGHTS.length)];
  if (!revoked) return withoutRight(scene, random, entry, BROKEN_TRIGGER);
  const [table, right] = revoked;
  return withoutRight(scene, random, entry, {
    says: `no ${right} on ${table}`,
    take: `REVOKE ${right} ON order_timeout.${table} FROM ${ROLE}`,
    give: `GRANT ${right} ON order_timeout.${table} TO ${ROLE}`,
  });
};

interface Refusal {
  readonly says: string;
  readonly take: string;
  readonly give: string;
}

async function withoutRight(
  { stage: { database }, signal }: Scene,
  random: Random,
  entry: InjectedFault,
  { says, take, give }: Refusal,
): Promise<void> {
  const ms = random.between(2_000, 20_000);
  const share = [1, 0.7, 0][random.between(0, 2)] ?? 1;
  entry.says = `${says}, and ${share * 100} % of the sessions ended, for ${ms} ms`;
  await database.query(take);
  try {
    await database.endSessions(share);
    await sleep(ms, undefined, { signal });
  } finally {
    await database.query(give);
  }
}

/** kill -9 of the primary, promotion of its standby, and later the old primary comes back as the standby. */
export const promoteStandby: Fault = async ({ stage, signal }, random, entry) => {
  const { databases } = stage;
  const isCutOff = random.next() < 0.5;
  if (isCutOff) {
    // What is committed now, the standby has not heard of, and the primary must not have acknowledged.
    await databases.killStandby();
    await sleep(random.between(500, 15_000), undefined, { signal });
  }
  const killedAt = performance.now();
  await databases.killPrimary();
  await sleep(random.between(0, 3_000), undefined, { signal });
  await databases.promote();
  entry.says = `${isCutOff ? 'the standby was cut off before, ' : ''}promoted after ${(performance.now() - killedAt).toFixed(0)} ms`;
  // From here on the service has a primary; that the old one joins again is nothing to wait for.
  entry.endedAt = Date.now();
  await databases.rejoin();
};
