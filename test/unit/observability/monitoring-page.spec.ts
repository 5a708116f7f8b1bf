import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readSnippets, REPOSITORY } from '../../support/snippets';

interface Scraped {
  readonly job_name: string;
  readonly metrics_path?: string;
  readonly params?: object;
}

interface Configuration {
  readonly global?: { readonly external_labels?: Readonly<Record<string, string>> };
  readonly rule_files?: readonly string[];
  readonly scrape_configs?: readonly Scraped[];
}

const read = (text: string): Configuration => parse(text) as Configuration;
const what = ({ job_name, metrics_path, params }: Scraped): Scraped => ({
  job_name,
  ...(metrics_path !== undefined && { metrics_path }),
  ...(params && { params }),
});

describe('the configuration of Prometheus in docs/monitoring.md', () => {
  const [scraping, alerting] = readSnippets('yaml')
    .filter(({ page }) => page === 'docs/monitoring.md')
    .map(({ text }) => read(text));
  const ours = read(readFileSync(join(REPOSITORY, 'observability/prometheus.yml'), 'utf8'));

  it('scrapes what that of Docker Compose scrapes for the alerts', () => {
    const names = ['order-timeout', 'rabbitmq-queues'];
    const expected = (ours.scrape_configs ?? []).filter(({ job_name: name }) => names.includes(name)).map(what);
    expect(expected.length).toBe(2);
    expect(scraping?.scrape_configs?.map(what)).toEqual(expected);
  });

  it('loads the same rules, and says where the runbook is', () => {
    expect(ours.rule_files).toEqual(['alerts.yml']);
    expect(alerting?.rule_files).toEqual(ours.rule_files);
    expect(alerting?.global?.external_labels).toEqual({ runbook: expect.stringMatching(/^https:/) as string });
  });
});
