import { type Facts } from '../../../examples/demo/checking/facts';
import { reportOn } from '../../../examples/demo/report/demo-report';
import { renderReport } from '../../../examples/demo/report/render-report';
import { ending, soundFacts, withOrder } from './sound-facts';

const DETAILS = { seed: 7, transport: 'auto', transportInUse: 'ladder', orders: 3, faults: false, seconds: 21 };
const late = withOrder('closed', (order) => ({
  ...order,
  history: order.history.map((entry) => ({ ...entry, occurredAt: entry.occurredAt + 60_000 * (entry.version - 2) })),
}));
const open = withOrder('closed', (order) => ending(order, 'CLOSING'));

describe('the last line of the demo', () => {
  const lastLine = (facts: Facts, loadPerCore: number): string | undefined =>
    renderReport(reportOn({ ...DETAILS, loadPerCore }, facts))
      .trimEnd()
      .split('\n')
      .at(-1);

  it.each([
    ['all is well', soundFacts, 9, /all \d+ invariants hold: 3 orders by ladder in 21 s \(--seed 7\)$/],
    [
      'orders were only late on a busy machine',
      late,
      4.25,
      /hold but the time, on a busy machine \(.* 4\.3, .*\): 3 orders/,
    ],
    ['orders were late on a quiet machine', late, 1, /1 of \d+ invariants FAIL/],
    ['orders stayed open on a busy machine', open, 9, /[2-9] of \d+ invariants FAIL/],
  ])('when %s', (_, facts, loadPerCore, expected) => {
    expect(lastLine(facts, loadPerCore)).toMatch(expected);
  });
});
