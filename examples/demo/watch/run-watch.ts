import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Interrupted } from '../../../test/support/run-main';
import { apiKeyEntry } from '../../../test/support/servers/service-environment';
import { type DrivenOrder } from '../buyers/planned-order';
import { driveOrders } from '../channels/drive-orders';
import { type WatchOptions } from '../demo-options';
import { type Run } from '../run-demo';
import { openStage, type Theatre } from '../servers/open-stage';
import { openBrowser } from './open-browser';
import { PERSON_DECIDES } from './plan-trouble';
import { planWatch } from './plan-watch';

const MINUTE_MS = 60_000;

/** Lets buyers act while somebody watches the operator page, until the time is up or a signal ends it. */
export async function runWatch(run: Run, { minutes, opensBrowser }: WatchOptions): Promise<void> {
  const { options, output } = run;
  const plan = planWatch(options.seed, minutes);
  const key = randomBytes(15).toString('base64url');
  const theatre = await openStage({
    ...{ ...run, transport: options.transport, stock: plan.stock },
    serviceVariables: { ...PERSON_DECIDES, OPERATOR_KEYS: apiKeyEntry('you', key, 'operate+money+reveal') },
  });
  const address = `${theatre.service.url}/operator/`;
  output.write(`  ready: deadlines wait by ${theatre.transportInUse}; --seed ${options.seed}\n\n`);
  output.write(`  Operator page:  ${address}\n  Sign in with:   ${key}\n\n`);
  output.write(`  Buyers act for ${minutes} min. Ctrl-C ends the demo.\n`);
  if (opensBrowser) openBrowser(address, process.env);
  await actUntilEnd(plan.orders, theatre, run.signal, minutes * MINUTE_MS);
  output.write(`\n  ${await describeOrders(theatre)}\n`);
}

/** @throws what ended the run, unless it was a signal of the system */
async function actUntilEnd(
  orders: readonly DrivenOrder[],
  theatre: Theatre,
  signal: AbortSignal,
  limitMs: number,
): Promise<void> {
  const end = new AbortController();
  // Every order that waits listens.
  setMaxListeners(0, end.signal);
  const timeIsUp = sleep(limitMs, undefined, { signal }).catch(() => undefined);
  // What shops are refused is on the page: an operator may act on any order.
  const driven = driveOrders(orders, { ...theatre, signal: end.signal, onPlaced: () => undefined });
  const stopped = driven.catch((error: unknown) => {
    if (!end.signal.aborted) throw error;
  });
  await Promise.all([stopped, timeIsUp.then(() => end.abort())]);
  if (signal.aborted && !(signal.reason instanceof Interrupted)) throw signal.reason;
}

async function describeOrders({ records }: Theatre): Promise<string> {
  const { byStatus } = await records.progress();
  const counts = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`);
  const total = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
  return `${total} orders: ${counts.sort().join(', ')}`;
}
