import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentOf } from '../e2e/running-service';
import { freePort } from '../support/servers/free-port';
import { programFile } from '../support/servers/program-file';
import { apiKeyEntry } from '../support/servers/service-environment';
import { ServiceProcess } from '../support/servers/service-process';
import { createDatabase, type TestDatabase } from '../support/database';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

const KEY = 'key-of-lena';
const VIEWS = [
  'overview',
  'orders',
  'parked-timeouts',
  'parked-timeouts/groups',
  'unmatched',
  'refunds',
  'messages/parked',
];
/** Several windows, of which the middle one counts: a collection of garbage falls into some of them. */
const WINDOWS = 5;
const WINDOW_MS = 6_000;
const MAX_PERCENT = 1;
/** What is compiled and cached after a start, and the last request, are over by then. */
const SETTLE_MS = 8_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A service in a process of its own, whose CPU time can be asked for. */
class MeasuredService extends ServiceProcess {
  static async open(environment: Readonly<Record<string, string>>, logFile: string): Promise<MeasuredService> {
    const nodeArguments = ['--require', join(__dirname, 'cpu-probe.js'), ...programFile('service')];
    const plan = { name: 'the service', nodeArguments, environment, logFile, startLimitMs: 60_000 };
    const service = new MeasuredService({ ...plan, port: await freePort() });
    await service.start();
    return service;
  }

  async cpuMs(): Promise<number> {
    return ((await this.ask('cpu')) as number) / 1_000;
  }

  /** Signs in, looks at every view, and leaves. */
  async look(): Promise<number[]> {
    const api = `${this.url}/operator/api`;
    const headers = { 'content-type': 'application/json' };
    const signedIn = await fetch(`${api}/session`, { method: 'POST', headers, body: JSON.stringify({ key: KEY }) });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const answers = VIEWS.map((view) => fetch(`${api}/${view}`, { headers: { cookie } }));
    return (await Promise.all(answers)).map(({ status }) => status);
  }
}

describe('the operator page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-idle-'));
  const opened: { service: MeasuredService; database: TestDatabase; vhost: TestVhost }[] = [];
  const open = async (name: string, more: Record<string, string>): Promise<MeasuredService> => {
    const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    const environment = { ...environmentOf(database.url, vhost.url), ...more };
    const service = await MeasuredService.open(environment, join(folder, `${name}.log`));
    opened.push({ service, database, vhost });
    return service;
  };
  afterAll(async () => {
    for (const { service, database, vhost } of opened) {
      await service.stop();
      await database.drop();
      await vhost.drop();
    }
    rmSync(folder, { recursive: true });
  });

  it(`costs less than ${MAX_PERCENT} % of a core when nobody looks anymore`, async () => {
    const without = await open('without', {});
    const withPage = await open('with', { OPERATOR_KEYS: apiKeyEntry('lena', KEY, 'operate') });
    expect(await withPage.look()).toEqual(VIEWS.map(() => 200));
    await sleep(SETTLE_MS);
    const percents: [withPage: number, without: number][] = [];
    for (let window = 0; window < WINDOWS; window++) {
      const before = await Promise.all([withPage.cpuMs(), without.cpuMs()]);
      await sleep(WINDOW_MS);
      const after = await Promise.all([withPage.cpuMs(), without.cpuMs()]);
      const percentOf = (at: 0 | 1): number => ((after[at] - before[at]) / WINDOW_MS) * 100;
      percents.push([percentOf(0), percentOf(1)]);
    }
    const costs = percents.map(([one, other]) => one - other).sort((a, b) => a - b);
    const cost = costs[Math.floor(WINDOWS / 2)] ?? Number.NaN;
    const shown = percents.map((pair) => pair.map((percent) => percent.toFixed(2)).join(' / ')).join(', ');
    process.stdout.write(`CPU of an idle service in percent of a core, with / without the page: ${shown}\n`);
    expect(cost).toBeLessThan(MAX_PERCENT);
  });
});
