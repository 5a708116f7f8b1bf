import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { Field } from './field';

const LONGEST = 500;

interface ReasonFieldProps {
  readonly value: string;
  readonly onInput: (reason: string) => void;
  readonly problem?: string | undefined;
}

/** Why an action is taken. */
export function ReasonField({ value, onInput, problem }: ReasonFieldProps): JSX.Element {
  const { t } = useApp();
  return (
    <Field label={t.actions.reason} hint={t.actions.reasonHint} problem={problem}>
      {(ids) => (
        <textarea
          {...ids}
          rows={2}
          maxLength={LONGEST}
          required
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
