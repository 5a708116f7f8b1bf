import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';

/** By how much to move a deadline. */
export function ExtendFields({ start, onInput }: { start: string; onInput: (by: string) => void }): JSX.Element {
  const { t } = useApp();
  return (
    <Field label={t.actions.extend.by} hint={t.actions.extend.byHint}>
      {(ids) => <input {...ids} defaultValue={start} onInput={(event) => onInput(event.currentTarget.value)} />}
    </Field>
  );
}
