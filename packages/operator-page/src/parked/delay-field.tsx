import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';

interface DelayFieldProps {
  readonly label: string;
  readonly start: string;
  readonly onInput: (text: string) => void;
}

/** A time from now, such as `30` or `2h`. */
export function DelayField({ label, start, onInput }: DelayFieldProps): JSX.Element {
  const { t } = useApp();
  return (
    <Field label={label} hint={t.actions.parkedDelay.hint}>
      {(ids) => <input {...ids} defaultValue={start} onInput={(event) => onInput(event.currentTarget.value)} />}
    </Field>
  );
}
