import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault } from './fault';

/** As after a failover to a server that is no primary: sessions begun meanwhile stay read-only for as long as they live. */
export const turnReadOnly: Fault = async ({ stage, signal }, random, entry) => {
  const ms = random.between(2_000, 20_000);
  entry.says = `for ${ms} ms`;
  const setting = (value: string): Promise<unknown> =>
    stage.database.query(`ALTER DATABASE ${stage.database.name} SET default_transaction_read_only = ${value}`);
  const endSessions = (): Promise<unknown> =>
    stage.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'nestjs-order-timeout%'`,
    );
  await setting('on');
  try {
    await endSessions();
    await sleep(ms, undefined, { signal });
  } finally {
    await setting('off');
    // A client has no way to end the sessions of a pooler.
    if (stage.usesPgbouncer) await endSessions();
  }
};

/** kill -9 of the primary, promotion of its standby, and later the old primary comes back as the standby. */
export const promoteStandby: Fault = async ({ stage, signal }, random, entry) => {
  const { databases } = stage;
  const killedAt = performance.now();
  await databases.killPrimary();
  await sleep(random.between(0, 3_000), undefined, { signal });
  await databases.promote();
  entry.says = `promoted after ${(performance.now() - killedAt).toFixed(0)} ms`;
  // From here on the service has a primary; that the old one joins again is nothing to wait for.
  entry.endedAt = Date.now();
  await databases.rejoin();
};
