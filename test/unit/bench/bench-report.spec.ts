import { type Contestant, type Sample, type Workload } from '../../../bench/contestant';
import { makeReport, toJson } from '../../../bench/report/bench-report';
import { type Machine } from '../../../bench/report/machine';
import { renderReport } from '../../../bench/report/render-report';

const machine: Machine = {
  cpu: 'some processor',
  cores: 2,
  memoryGiB: 8,
  kernel: '6',
  node: 'v20',
  postgresql: '15',
  postgresqlSettings: {},
  rabbitmq: '3.10',
  erlang: '25',
  delayedExchange: undefined,
  commit: 'abc',
};
const options = {
  only: undefined,
  contestants: undefined,
  rounds: 3,
  isShort: false,
  json: undefined,
  profileFolder: undefined,
};
const contestant = (name: string, role: Contestant['role']): Contestant => ({ name, role, run: async () => ({}) });
const product = contestant('ours', 'product');
const floor = contestant('bare', 'floor');
const workload: Workload = {
  id: 'B0',
  title: 'a test',
  contestants: [product, floor],
  metrics: [{ key: 'perSecond', title: 'orders/s', better: 'higher' }],
  targets: [
    {
      says: 'half of the floor',
      judge: (medians) => {
        const value = (medians.of('ours', 'perSecond') ?? NaN) / (medians.highest('floor', 'perSecond') ?? NaN);
        return { value, isMet: value >= 0.5 };
      },
    },
    {
      says: 'nobody ran',
      judge: (medians) => (medians.workload('B9').of('ours', 'perSecond') ? undefined : undefined),
    },
  ],
};
const rates = (...values: number[]): Sample[] => values.map((perSecond) => ({ perSecond }));

function report(ours: Sample[], bare: Sample[], failures: string[] = []) {
  const samples = new Map([
    [product, ours],
    [floor, bare],
  ]);
  return makeReport(machine, options, [{ workload, samples, failures }]);
}

describe('the report of a benchmark', () => {
  it('says ratios of medians first, and the figures with lowest and highest behind them', () => {
    const text = renderReport(report(rates(100, 900, 400), rates(1_000, 200, 800)));
    expect(text).toMatch(/÷ bare\s+0\.50 ×/);
    expect(text).toMatch(/ours\s+product\s+400 \(100–900\)/);
    expect(text.indexOf('0.50 ×')).toBeLessThan(text.indexOf('400 ('));
  });

  it('takes the mean of the middle two of an even number of rounds', () => {
    const { targets } = report(rates(100, 200), rates(300));
    expect(targets).toEqual([{ workload: 'B0', says: 'half of the floor', value: 0.5, isMet: true }]);
  });

  it('says which targets are missed, and nothing of those that cannot be judged', () => {
    const text = renderReport(report(rates(100), rates(300)));
    expect(text).toContain('missed  half of the floor: 0.333');
    expect(text).not.toContain('nobody ran');
  });

  it('shows what failed', () => {
    expect(renderReport(report([], rates(1), ['ours, round 1: 3 early']))).toContain('FAILED  ours, round 1: 3 early');
  });

  it('keeps every sample for programs', () => {
    const { workloads } = JSON.parse(toJson(report(rates(1, 2), rates(3)))) as {
      workloads: { contestants: { name: string; samples: Sample[] }[] }[];
    };
    expect(workloads[0]?.contestants[0]).toMatchObject({ name: 'ours', samples: [{ perSecond: 1 }, { perSecond: 2 }] });
  });
});
