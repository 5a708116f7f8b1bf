import { type JSX } from 'preact';

interface ProgressBarProps {
  readonly label: string;
  readonly done: number;
  /** Undefined: nobody knows yet. */
  readonly all: number | undefined;
}

/** How far a long action is; screen readers hear the label as it changes. */
export function ProgressBar({ label, done, all }: ProgressBarProps): JSX.Element {
  return (
    <div class="progress">
      <progress
        aria-label={label}
        {...(all === undefined ? {} : { value: Math.min(done, all), max: Math.max(all, 1) })}
      />
      <p role="status">{label}</p>
    </div>
  );
}
