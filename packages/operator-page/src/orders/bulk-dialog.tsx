import { type JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { changedOf } from '../bulk/run-bulk';
import { formatCount } from '../format/format-count';
import { parseExtension } from '../format/parse-extension';
import { useApp } from '../session/app-context';
import { Dialog } from '../ui/dialog';
import { ProblemNote } from '../ui/problem-note';
import { BulkEntryFields } from './bulk-entry-fields';
import { BulkOutcomes } from './bulk-outcomes';
import { newActionId } from './bulk-request';
import { type BulkAction, type OrderFilter } from './order-filter';
import { type BulkRun, useBulk } from './use-bulk';

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly filter: Omit<OrderFilter, 'q' | 'trace'>;
  readonly onDone: () => void;
}

/** An action on all orders of a filter: entry, preview, confirmation, progress. */
export function BulkDialog({ action, filter, onDone }: BulkDialogProps): JSX.Element {
  const { t, showDialog } = useApp();
  const [reason, setReason] = useState('');
  const [by, setBy] = useState('30');
  const [wrong, setWrong] = useState<string>();
  const actionId = useMemo(newActionId, []);
  const bulk = useBulk(onDone);
  const entry = { action, filter, reason, by, actionId };

  const submit = (event: Event): void => {
    event.preventDefault();
    const problem = problemOf();
    setWrong(problem);
    if (problem !== undefined) return;
    if (bulk.stage === 'entry') void bulk.preview(entry);
    else if (bulk.stage === 'previewed') void bulk.run(entry);
  };
  const problemOf = (): string | undefined => {
    if (action === 'extend' && parseExtension(by) === undefined) return t.actions.extend.byInvalid;
    return reason.trim() === '' ? t.actions.reasonMissing : undefined;
  };

  return (
    <Dialog title={t.orders.bulk.titles[action]} onClose={() => showDialog(null)}>
      <form onSubmit={submit} noValidate>
        <p>{t.orders.bulk.what[action]}</p>
        {bulk.stage === 'entry' && <BulkEntryFields {...{ action, filter, reason, by, setReason, setBy }} />}
        <BulkOutcomes bulk={bulk} />
        {wrong && (
          <p class="field-problem" role="alert">
            {wrong}
          </p>
        )}
        {bulk.problem && <ProblemNote problem={bulk.problem} />}
        <BulkButtons bulk={bulk} action={action} />
      </form>
    </Dialog>
  );
}

function BulkButtons({ bulk, action }: { bulk: BulkRun; action: BulkAction }): JSX.Element {
  const { t, locale, showDialog } = useApp();
  const { stage, total } = bulk;
  const isBusy = stage === 'previewing' || stage === 'running';
  const isOver = stage === 'done' || stage === 'stopped';
  const count = changedOf(total);
  return (
    <footer class="dialog-foot">
      <button type="button" onClick={isBusy ? bulk.stop : () => showDialog(null)}>
        {isBusy ? t.orders.bulk.stop : isOver ? t.shell.close : t.shell.cancel}
      </button>
      {stage === 'entry' && (
        <button type="submit" class="primary">
          {t.orders.bulk.preview}
        </button>
      )}
      {stage === 'previewed' && count > 0 && (
        <button type="submit" class={action === 'extend' ? 'primary' : 'danger'}>
          {t.orders.bulk.confirm[action](formatCount(count, locale))}
        </button>
      )}
    </footer>
  );
}
