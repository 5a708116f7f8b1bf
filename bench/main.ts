import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runMain } from '../test/support/run-main';
import { CleanUp } from '../test/support/servers/clean-up';
import { type BenchOptions, parseOptions, USAGE } from './bench-options';
import { type Workload } from './contestant';
import { type BenchReport, makeReport, toJson } from './report/bench-report';
import { describeMachine } from './report/machine';
import { renderReport } from './report/render-report';
import { type WorkloadResult } from './report/workload-result';
import { runWorkload } from './run-workload';
import { type RingSetting } from './servers/open-ring';
import { openServers } from './servers/open-servers';
import { WORKLOADS } from './workloads';

const say = (line: string): void => void process.stdout.write(`  ${line}\n`);

function chosen({ only, contestants: names }: BenchOptions): Workload[] {
  const workloads = WORKLOADS.filter(({ id }) => only?.includes(id) ?? true);
  return workloads.map((workload) => ({
    ...workload,
    contestants: workload.contestants.filter(({ name }) => names?.some((part) => name.includes(part)) ?? true),
  }));
}

async function measure(
  workloads: readonly Workload[],
  options: BenchOptions,
  signal: AbortSignal,
): Promise<BenchReport> {
  const cleanUp = new CleanUp();
  let isGood = false;
  try {
    const plugin = workloads.some(({ contestants }) => contestants.some(({ broker }) => broker === 'plugin'));
    const setting: RingSetting = { ...options, ...folders(options, cleanUp), signal, say };
    const statementStatistics = setting.profileFolder !== undefined;
    const servers = await openServers({ folder: setting.folder, plugin, statementStatistics }, cleanUp);
    const machine = await describeMachine(servers);
    const results: WorkloadResult[] = [];
    for (const workload of workloads) results.push(await runWorkload(workload, options.rounds, servers, setting));
    isGood = results.every(({ failures }) => failures.length === 0);
    if (!isGood) say(`logs: ${setting.folder}`);
    return makeReport(machine, options, results);
  } finally {
    const left = await cleanUp.run({ keepsEvidence: !isGood });
    if (left.length > 0) process.stderr.write(`  not cleaned up: ${left.join('; ')}\n`);
  }
}

function folders(options: BenchOptions, cleanUp: CleanUp): Pick<RingSetting, 'folder' | 'profileFolder'> {
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-bench-'));
  // Peers' servers may run as another user.
  chmodSync(folder, 0o755);
  cleanUp.add('deleting the folder', async () => rmSync(folder, { recursive: true, force: true }), {
    isEvidence: true,
  });
  if (options.profileFolder === undefined) return { folder, profileFolder: undefined };
  const profileFolder = resolve(options.profileFolder);
  mkdirSync(profileFolder, { recursive: true });
  return { folder, profileFolder };
}

runMain({
  name: 'the benchmark',
  usage: USAGE,
  run: async ({ args, signal }) => {
    const ids = WORKLOADS.map(({ id }) => id);
    const options = parseOptions(args, ids);
    const report = await measure(chosen(options), options, signal);
    process.stdout.write(`\n${renderReport(report)}`);
    if (options.json !== undefined) writeFileSync(options.json, toJson(report));
    return report.results.some(({ failures }) => failures.length > 0) ? 1 : 0;
  },
});
