import { type ComponentChildren, type JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | undefined;
  /** The control: it gets the id of its label, and of the texts that describe it. */
  readonly children: (ids: { readonly id: string; readonly 'aria-describedby'?: string }) => ComponentChildren;
}

/** A control with its label, its hint, and what is wrong with it. */
export function Field({ label, hint, problem, children }: FieldProps): JSX.Element {
  const id = useId();
  const describedBy = problem || hint ? { 'aria-describedby': `${id}-note` } : {};
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...describedBy })}
      {problem ? (
        <p id={`${id}-note`} class="field-problem" role="alert">
          {problem}
        </p>
      ) : (
        hint && (
          <p id={`${id}-note`} class="field-hint">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
