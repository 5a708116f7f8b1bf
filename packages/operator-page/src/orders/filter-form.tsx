import { type JSX } from 'preact';
import { ORDER_STATUSES } from '../api/contract';
import { goTo } from '../route/use-route';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';
import {
  instantOf,
  isEmpty,
  localInput,
  type OrderFilter,
  TEXT_FIELDS,
  type TextField,
  TIME_FIELDS,
  type TimeField,
} from './order-filter';

/** The fields that most people need; the others are behind "more". */
const FIRST_FIELDS: readonly TextField[] = ['q', 'merchantId', 'provider'];

/** The filter as a form. Applying it changes the address. */
export function FilterForm({ filter }: { filter: OrderFilter }): JSX.Element {
  const { t } = useApp();
  const more = [...TEXT_FIELDS.filter((field) => !FIRST_FIELDS.includes(field)), ...TIME_FIELDS];
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    goTo('orders', queryOf(new FormData(event.currentTarget as HTMLFormElement)));
  };
  return (
    <form class="filter panel" aria-label={t.orders.filter} onSubmit={submit}>
      <StatusChoice filter={filter} />
      <div class="filter-row">
        {FIRST_FIELDS.map((field) => (
          <TextControl key={field} field={field} filter={filter} />
        ))}
        <div class="filter-buttons">
          <button type="submit" class="primary">
            {t.orders.apply}
          </button>
          {!isEmpty(filter) && (
            <button type="button" onClick={() => goTo('orders')}>
              {t.orders.clear}
            </button>
          )}
        </div>
      </div>
      <details open={more.some((field) => filter[field] !== undefined)}>
        <summary>{t.orders.more}</summary>
        <div class="filter-row">
          <TextControl field="reference" filter={filter} />
          <TextControl field="trace" filter={filter} />
          {TIME_FIELDS.map((field) => (
            <TimeControl key={field} field={field} filter={filter} />
          ))}
        </div>
      </details>
    </form>
  );
}

function queryOf(form: FormData): Record<string, string | string[] | undefined> {
  const text = (field: string): string | undefined => {
    const value = form.get(field);
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
  };
  return {
    status: form.getAll('status').map(String),
    ...Object.fromEntries(TEXT_FIELDS.map((field) => [field, text(field)])),
    ...Object.fromEntries(TIME_FIELDS.map((field) => [field, instantOf(text(field) ?? null)])),
  };
}

function StatusChoice({ filter }: { filter: OrderFilter }): JSX.Element {
  const { t } = useApp();
  return (
    <fieldset class="choices">
      <legend>{t.orders.status}</legend>
      {ORDER_STATUSES.map((status) => (
        <label key={status}>
          <input type="checkbox" name="status" value={status} defaultChecked={filter.status.includes(status)} />
          <span>{t.domain.statuses[status]}</span>
        </label>
      ))}
    </fieldset>
  );
}

function TextControl({ field, filter }: { field: TextField; filter: OrderFilter }): JSX.Element {
  const { t } = useApp();
  const labels: Readonly<Record<TextField, string>> = {
    q: t.orders.anything,
    merchantId: t.orders.merchant,
    provider: t.orders.provider,
    reference: t.orders.reference,
    trace: t.orders.trace,
  };
  return (
    <Field label={labels[field]}>
      {(ids) => (
        <input {...ids} name={field} defaultValue={filter[field] ?? ''} autoComplete="off" spellcheck={false} />
      )}
    </Field>
  );
}

function TimeControl({ field, filter }: { field: TimeField; filter: OrderFilter }): JSX.Element {
  const { t } = useApp();
  const labels: Readonly<Record<TimeField, string>> = {
    expiresFrom: t.orders.deadlineFrom,
    expiresTo: t.orders.deadlineTo,
    createdFrom: t.orders.placedFrom,
    createdTo: t.orders.placedTo,
  };
  return (
    <Field label={labels[field]}>
      {(ids) => <input {...ids} type="datetime-local" step="1" name={field} defaultValue={localInput(filter[field])} />}
    </Field>
  );
}
