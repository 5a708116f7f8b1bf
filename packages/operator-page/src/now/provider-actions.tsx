import { type JSX } from 'preact';
import { type ProviderState } from '../api/contract';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';
import { useAction } from '../ui/use-action';

interface ProviderActionsProps {
  readonly provider: ProviderState;
  readonly onChange: () => void;
}

const MOST_PER_SECOND = 10_000;

/** Pauses, resumes, and limits a provider. */
export function ProviderActions({ provider, onChange }: ProviderActionsProps): JSX.Element {
  const { t, api } = useApp();
  const open = useAction(onChange);
  const { name, paused, limitPerSecond } = provider;
  const path = `providers/${encodeURIComponent(name)}`;
  const texts = paused ? t.actions.resumeProvider : t.actions.pauseProvider;
  const verb = paused ? 'resume' : 'pause';
  const { limitProvider } = t.actions;
  const limit = { text: String(limitPerSecond ?? '') };

  const startSwitch = (): void =>
    open({
      ...texts,
      title: texts.title(name),
      done: texts.done(name),
      perform: (reason) => api.post(`${path}/${verb}`, { reason }),
    });
  const startLimit = (): void =>
    open({
      ...limitProvider,
      title: limitProvider.title(name),
      done: limitProvider.done(name),
      fields: <LimitField start={limit.text} onInput={(text) => (limit.text = text)} />,
      problem: () => (perSecondOf(limit.text) === undefined ? limitProvider.invalid : undefined),
      perform: (reason) => api.post(`${path}/limit`, { reason, perSecond: perSecondOf(limit.text) ?? null }),
    });
  return (
    <span class="buttons">
      <button type="button" class="small" aria-label={texts.title(name)} onClick={startSwitch}>
        {paused ? t.now.resume : t.now.pause}
      </button>
      <button type="button" class="small" aria-label={`${t.now.setLimit}: ${name}`} onClick={startLimit}>
        {t.now.setLimit}
      </button>
    </span>
  );
}

function LimitField({ start, onInput }: { start: string; onInput: (text: string) => void }): JSX.Element {
  const { t } = useApp();
  return (
    <Field label={t.actions.limitProvider.perSecond}>
      {(ids) => (
        <input
          {...ids}
          inputMode="numeric"
          defaultValue={start}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Null: the configured limit. Undefined: it is no limit. */
function perSecondOf(text: string): number | null | undefined {
  if (text.trim() === '') return null;
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 && value <= MOST_PER_SECOND ? value : undefined;
}
