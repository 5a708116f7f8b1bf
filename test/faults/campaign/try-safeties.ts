import { textTable } from '../../support/report/text-table';
import { type Patch } from './build/patch';
import { SAFETIES } from './build/safeties';
import { type Safety } from './build/safety';
import { type CampaignOptions } from './campaign-options';
import { COLUMNS } from './checks/verdict';
import { hasPassed } from './render-result';
import { type CampaignResult, runCampaign } from './run-campaign';

interface Trial {
  readonly options: CampaignOptions;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** What is still open then is lost; a purge is made up for by the sweep after 35 s. */
const DRAIN_MS = 60_000;

/** Which safeties are meant. @throws TypeError for an unknown name. */
export function chooseSafeties(name: string): readonly Safety[] {
  const chosen = SAFETIES.filter((safety) => name === 'all' || safety.name === name);
  if (chosen.length > 0) return chosen;
  throw new TypeError(`--safety must be all or one of ${SAFETIES.map((safety) => safety.name).join(', ')}`);
}

/** Takes each safety away, one after the other. @returns the table, and whether the harness has noticed every time. */
export async function trySafeties(safeties: readonly Safety[], trial: Trial): Promise<{ table: string; all: boolean }> {
  const rows: string[][] = [];
  let all = true;
  for (const safety of safeties) {
    const { patches, without = [] } = safety;
    trial.say(`${safety.name}: ${safety.says}`);
    const broken = await runOne(safety, [...without, ...patches], trial);
    const isNoticed = safety.breaks.some((column) => broken.verdict.count(column) > 0) && !isClean(broken);
    // The control has what the trial has, but for the safety itself.
    const control = without.length > 0 ? await runOne(safety, without, trial) : undefined;
    const isSound = !control || safety.breaks.every((column) => control.verdict.count(column) === 0);
    all &&= isNoticed && isSound;
    rows.push([
      safety.name,
      String(broken.log.faults.length),
      describe(broken),
      ...[control ? describe(control) : '–', isNoticed && isSound ? 'noticed' : 'NOT PROVEN'],
    ]);
    trial.say(rows.at(-1)?.join(' | ') ?? '');
  }
  return { table: textTable(['disabled safety', 'faults', 'what breaks', 'control', 'harness'], rows, [1]), all };
}

function isClean(result: CampaignResult): boolean {
  return hasPassed(result, { isBrokerDead: false });
}

function runOne(safety: Safety, patches: readonly Patch[], { options, signal, say }: Trial): Promise<CampaignResult> {
  const { kinds, faults } = safety;
  const all = { ...options, ...safety.options, faults };
  return runCampaign({ options: all, signal, say, patches, kinds, drainMs: DRAIN_MS });
}

function describe({ verdict }: CampaignResult): string {
  const broken = COLUMNS.filter((column) => verdict.count(column) > 0);
  return broken.map((column) => `${verdict.count(column)} ${column}`).join(', ') || 'nothing';
}
