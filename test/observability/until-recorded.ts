import { type Prometheus, type Series } from '../support/servers/prometheus';
import { answerOf } from '../support/until';

const LIMIT_MS = 60_000;
/** Longer than a run: an incident at its beginning counts. */
const WINDOW_SECONDS = 600;

const hasNumber = (all: readonly Series[]): boolean =>
  all.some(({ values }) => values.some(([, value]) => Number.isFinite(Number(value))));

/** Waits until Prometheus has data for a PromQL expression. */
export async function untilRecorded(
  prometheus: Prometheus,
  expression: string,
  isEnough: (series: readonly Series[]) => boolean = hasNumber,
): Promise<void> {
  await answerOf(expression, LIMIT_MS, undefined, async () => {
    return isEnough(await prometheus.series(expression, WINDOW_SECONDS)) || undefined;
  });
}
