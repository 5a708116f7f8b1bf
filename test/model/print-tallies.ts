import { type Violation } from './check-end';
import { runOnce } from './run-once';
import { type Tally } from './tally';
import { WEAKER } from './weaker-wirings';
import { OURS, type Wiring } from './wiring';

const COLUMNS: readonly (readonly [title: string, types: readonly Violation['type'][]])[] = [
  ['charged', ['charged']],
  ['overcharged', ['overcharged']],
  ['lost', ['lost']],
  ['twice', ['twice']],
  ['stolen', ['stolen']],
  ['stale', ['stale']],
  ['doubled', ['doubled']],
  ['stock', ['stock']],
  ['never ends', ['endless']],
  ['early', ['early']],
  ['unjust', ['unjust']],
  ['history', ['history', 'refund', 'fault']],
];

/** The table of all variants, in markdown. */
export function tableOf(tallies: readonly Tally[]): string {
  const head = ['variant', 'runs', ...COLUMNS.map(([title]) => title), 'parked'];
  const rows = tallies.map(({ variant, runs, counts, parked }) => [
    variant,
    runs,
    ...COLUMNS.map(([, types]) => types.reduce((sum, type) => sum + (counts[type] ?? 0), 0)),
    parked,
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Whether ours is clean, and every weaker variant was caught. */
export function isAsExpected(tallies: readonly Tally[]): boolean {
  return tallies.every(({ variant, counts, seeds }) =>
    variant === OURS.name ? seeds.length === 0 : (counts[wiringOf(variant).shows] ?? 0) > 0,
  );
}

/** What happened in one run, step by step, and what was wrong in the end; `lines`: at most about so many. */
export function storyOf(seed: number, variant: string, lines = Infinity): string {
  const { trace, violations } = runOnce(seed, wiringOf(variant), true);
  const ends = violations.map(({ type, text }) => `${type}: ${text}`);
  return [`seed ${seed}, ${variant}:`, ...shorten(trace, lines), ...(ends.length > 0 ? ends : ['nothing wrong'])].join(
    '\n',
  );
}

function wiringOf(variant: string): Wiring {
  return [OURS, ...WEAKER].find(({ name }) => name === variant) ?? OURS;
}

/** Beginning and end: in between, somebody is waited for. */
function shorten(trace: readonly string[], lines: number): readonly string[] {
  if (trace.length <= lines) return trace;
  const part = Math.floor(lines / 2);
  return [...trace.slice(0, part), `(${trace.length - 2 * part} lines left out)`, ...trace.slice(-part)];
}
