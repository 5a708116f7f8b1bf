import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';
import { ReasonField } from '../ui/reason-field';
import { describeFilter } from './describe-filter';
import { type BulkAction, type OrderFilter } from './order-filter';

interface BulkEntryFieldsProps {
  readonly action: BulkAction;
  readonly filter: Omit<OrderFilter, 'q' | 'trace'>;
  readonly reason: string;
  readonly by: string;
  readonly setReason: (reason: string) => void;
  readonly setBy: (by: string) => void;
}

/** What a bulk action needs to know. */
export function BulkEntryFields(props: BulkEntryFieldsProps): JSX.Element {
  const { t, locale } = useApp();
  return (
    <>
      <dl class="facts">
        {describeFilter(props.filter, t, locale).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {props.action === 'extend' && (
        <Field label={t.actions.extend.by} hint={t.actions.extend.byHint}>
          {(ids) => <input {...ids} value={props.by} onInput={(event) => props.setBy(event.currentTarget.value)} />}
        </Field>
      )}
      <ReasonField value={props.reason} onInput={props.setReason} />
    </>
  );
}
