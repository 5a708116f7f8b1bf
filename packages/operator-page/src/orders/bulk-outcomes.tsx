import { type JSX } from 'preact';
import { changedOf, isRefusal } from '../bulk/run-bulk';
import { formatCount } from '../format/format-count';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { ProgressBar } from '../ui/progress-bar';
import { Count } from '../ui/values';
import { type BulkRun } from './use-bulk';

type Outcome = readonly [outcome: string, count: number];

/** What a bulk action would do, does, or did. */
export function BulkOutcomes({ bulk }: { bulk: BulkRun }): JSX.Element | null {
  const { t, locale } = useApp();
  const { stage, total, expected } = bulk;
  if (stage === 'entry') return null;
  const texts = t.orders.bulk;
  const done = formatCount(total.count, locale);
  const isRunning = stage === 'running';
  return (
    <div class="outcomes">
      {stage === 'previewing' && <p class="muted">{texts.previewing}</p>}
      {(stage === 'previewing' || isRunning) && (
        <ProgressBar
          label={isRunning ? texts.running(done, formatCount(expected, locale)) : texts.handled(done)}
          done={total.count}
          all={isRunning ? expected : undefined}
        />
      )}
      {stage === 'previewed' && <h3>{texts.previewTitle}</h3>}
      {stage === 'previewed' && changedOf(total) === 0 && <p role="status">{texts.nothing}</p>}
      {(stage === 'done' || stage === 'stopped') && (
        <p role="status">
          <strong>{stage === 'done' ? texts.done : texts.stopped}</strong> {texts.handled(done)}
        </p>
      )}
      {total.count > 0 && <OutcomeTable bulk={bulk} />}
    </div>
  );
}

function OutcomeTable({ bulk: { total } }: { bulk: BulkRun }): JSX.Element {
  const { t } = useApp();
  return (
    <DataTable
      caption={t.orders.bulk.previewTitle}
      empty=""
      rows={Object.entries(total.outcomes)}
      rowKey={([outcome]) => outcome}
      columns={[
        column<Outcome>(t.orders.bulk.outcome, ([outcome]) => (
          <span class={isRefusal(outcome) ? 'bad-text' : ''}>{outcome}</span>
        )),
        column<Outcome>(t.orders.bulk.count, ([, count]) => <Count value={count} />, true),
        column<Outcome>(t.orders.bulk.examples, ([outcome]) =>
          total.sample
            .filter((one) => one.outcome === outcome)
            .slice(0, 3)
            .map(({ id }) => (
              <a key={id} class="id example" href={formatRoute('order', {}, id)} target="_blank" rel="noreferrer">
                {id}
              </a>
            )),
        ),
      ]}
    />
  );
}
