import { OwnServer, SERVER } from './own-server';

/** What Prometheus answers to a query: a series, and its samples from oldest to newest. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: unknown;
}

/** A Prometheus with the alert rules of observability/. */
export class Prometheus extends OwnServer {
  /** @param configuration text of a prometheus.yml, which may name `alerts.yml` */
  static open(configuration: string): Promise<Prometheus> {
    return new Prometheus(SERVER, ['prometheus'], { PROMETHEUS_CONFIG: configuration }).ready();
  }

  /** The series of an expression over the last `seconds`, a sample each second. @throws Error if it is none */
  async series(expression: string, seconds: number): Promise<readonly Series[]> {
    const end = Date.now() / 1_000;
    const range = { query: expression, start: String(end - seconds), end: String(end), step: '1' };
    const { result } = (await this.ask(`query_range?${String(new URLSearchParams(range))}`)) as { result: Series[] };
    return result;
  }

  /** @param path below /api/v1 @throws Error if Prometheus refuses it */
  async ask(path: string): Promise<unknown> {
    const response = await fetch(`${this.text('url')}/api/v1/${path}`);
    const { status, error, data } = (await response.json()) as Answer;
    if (status !== 'success') throw new Error(`Prometheus refuses ${path}: ${error}`);
    return data;
  }
}
