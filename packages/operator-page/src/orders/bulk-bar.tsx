import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { BulkDialog } from './bulk-dialog';
import { type BulkAction, bulkFilter, type OrderFilter } from './order-filter';

interface BulkBarProps {
  readonly filter: OrderFilter;
  readonly onDone: () => void;
}

const ACTIONS: readonly BulkAction[] = ['extend', 'cancel', 'close'];

/** Actions on all orders that match, not only on those of the page. */
export function BulkBar({ filter, onDone }: BulkBarProps): JSX.Element {
  const { t, showDialog } = useApp();
  const choices = ACTIONS.map((action) => ({ action, choice: bulkFilter(action, filter) }));
  const refusals = choices.flatMap(({ choice }) => ('refusal' in choice ? [choice.refusal] : []));
  const texts = { empty: t.orders.actOnAllHint, search: t.orders.noBulkFor, status: t.orders.noBulkStatus };
  const [refusal] = refusals.length === ACTIONS.length ? refusals : [];
  return (
    <div class="bulk-bar">
      <span class="muted">{refusal ? texts[refusal] : `${t.orders.actOnAll}:`}</span>
      <span class="buttons">
        {choices.map(({ action, choice }) =>
          'filter' in choice ? (
            <button
              key={action}
              type="button"
              class="small"
              aria-label={t.orders.bulk.titles[action]}
              onClick={() => showDialog(<BulkDialog action={action} filter={choice.filter} onDone={onDone} />)}
            >
              {t.orders.bulk[action]}…
            </button>
          ) : null,
        )}
      </span>
    </div>
  );
}
