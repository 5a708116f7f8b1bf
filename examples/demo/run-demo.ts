import { MachineLoad } from '../../test/support/machine-load';
import { type CleanUp } from '../../test/support/servers/clean-up';
import { measureSlowness, stretchPlan } from './buyers/machine-pace';
import { type DemoPlan, planOrders } from './buyers/plan-orders';
import { driveOrders, type Stage } from './channels/drive-orders';
import { type RefusalFact } from './checking/facts';
import { type DemoOptions } from './demo-options';
import { gatherFacts } from './observing/gather-facts';
import { openProgress } from './observing/progress-view';
import { watchRun } from './observing/watch-run';
import { type DemoReport, reportOn } from './report/demo-report';
import { killAndRestart } from './servers/kill-and-restart';
import { openStage, type Theatre } from './servers/open-stage';

/** One start of the demo. */
export interface Run {
  readonly options: DemoOptions;
  readonly environment: { readonly databaseUrl: string; readonly rabbitUrls: readonly string[] };
  /** Progress for people goes here. */
  readonly output: NodeJS.WriteStream;
  readonly cleanUp: CleanUp;
  readonly signal: AbortSignal;
  readonly onDeath: (sentence: string) => void;
}

/** From the last buyer's last act to the end of everything, on a quiet machine; longer than the longest limit of a check. */
const AFTER_LIMIT_MS = 42_000;

/** Sets everything up, lets the orders happen, and judges what became of them. */
export async function runDemo(run: Run): Promise<DemoReport> {
  const { options, output, signal } = run;
  const planned = planOrders(options.seed, options.orders);
  const theatre = await openStage({ ...run, transport: options.transport, stock: planned.stock });
  output.write(
    `  ready: deadlines wait by ${theatre.transportInUse}; ${options.orders} orders, --seed ${options.seed}\n`,
  );
  const slowness = measureSlowness();
  if (slowness > 1)
    output.write(`  other programs use the processor: deadlines and limits are ${slowness} times longer\n`);
  const plan = stretchPlan(planned, slowness);
  const startedAt = performance.now();
  const load = new MachineLoad();
  load.start();
  run.cleanUp.add('measuring the load', async () => load.stop());
  const refusals = await perform(plan, theatre, run, slowness);
  const facts = await gatherFacts({ ...theatre, plan, refusals, wasKilled: options.faults, slowness });
  const seconds = (performance.now() - startedAt) / 1_000;
  signal.throwIfAborted();
  return reportOn({ ...options, transportInUse: theatre.transportInUse, seconds, loadPerCore: load.highest }, facts);
}

/** @returns what the shops were refused. */
async function perform(
  plan: DemoPlan,
  theatre: Theatre,
  { options, output, signal }: Run,
  slowness: number,
): Promise<RefusalFact[]> {
  const lastActMs = Math.max(...plan.orders.map(endOf));
  const view = openProgress(plan.orders.length, output);
  const endsAt = performance.now() + lastActMs;
  let placed = 0;
  let isDriven = false;
  let note = 'the service runs';
  const stage: Stage = { ...theatre, signal, onPlaced: () => (placed += 1) };
  const driven = driveOrders(plan.orders, stage).finally(() => (isDriven = true));
  const faults = options.faults
    ? killAndRestart(theatre.service, lastActMs / 2, signal, (text) => (note = text))
    : Promise.resolve();
  const watched = watchRun({
    ...theatre,
    events: () => theatre.bus?.listener.count ?? 0,
    total: plan.orders.length,
    view,
    placed: () => placed,
    note: () => note,
    isQuiet: () => isDriven && performance.now() > endsAt,
    limitMs: lastActMs + AFTER_LIMIT_MS * slowness,
    signal,
  });
  const [refusals] = await Promise.all([driven, watched, faults]);
  return refusals;
}

/** When the last thing about an order happens that is not the service's doing, milliseconds after the start. */
function endOf({ placeAtMs, windowMs, payment, action }: DemoPlan['orders'][number]): number {
  const movedTo = action?.type === 'move-deadline' ? action.toMs : 0;
  return placeAtMs + Math.max(windowMs, movedTo, payment?.paysAtMs ?? 0);
}
