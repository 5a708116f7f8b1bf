import { type Prometheus } from '../../support/servers/prometheus';
import { type Panel, withVariables } from '../../support/observability';

/** A sample: seconds since the beginning of the recording, and a number. */
export type Sample = readonly [seconds: number, value: number];

/** A line of a panel. */
export interface PanelSeries {
  readonly name: string;
  /** Upper limit of the bucket, in a heatmap. */
  readonly le: number;
  /** From oldest to newest, without those that are no number. */
  readonly samples: readonly Sample[];
}

/** What Grafana would draw in a panel. Queries are asked as Grafana asks them. */
export async function readPanelSeries(
  panel: Panel,
  { prometheus, fromMs, seconds }: { prometheus: Prometheus; fromMs: number; seconds: number },
): Promise<PanelSeries[]> {
  const found = (panel.targets ?? []).map(async ({ expr, legendFormat = '' }) => {
    const series = await prometheus.series(withVariables(expr), seconds);
    return series.map(({ metric, values }) => ({
      name: legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
      le: Number(metric['le']?.replace('+Inf', 'Infinity')),
      samples: values
        .map(([at, value]): Sample => [at - fromMs / 1_000, Number(value)])
        .filter(([, value]) => Number.isFinite(value)),
    }));
  });
  return (await Promise.all(found)).flat().filter(({ samples }) => samples.length > 0);
}
