import { type JSX } from 'preact';
import { type Role } from '../api/contract';
import { formatCount } from '../format/format-count';
import { type Messages } from '../i18n/en';
import { useApp, useMay } from '../session/app-context';

type ChosenAction = keyof Messages['attention']['verbs'];

interface ChosenButtonsProps<Action extends ChosenAction> {
  readonly count: number;
  readonly actions: readonly Action[];
  readonly role: Role;
  readonly onStart: (action: Action) => void;
}

/** What can be done with all that is chosen in a list. */
export function ChosenButtons<Action extends ChosenAction>(props: ChosenButtonsProps<Action>): JSX.Element | null {
  const { t, locale } = useApp();
  const mayAct = useMay(props.role);
  const { count, actions, onStart } = props;
  if (!mayAct) return null;
  return (
    <span class="buttons">
      <span class="muted number">{t.attention.chosen(formatCount(count, locale))}</span>
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={`small ${action === 'discard' ? 'danger-quiet' : ''}`}
          disabled={count === 0}
          onClick={() => onStart(action)}
        >
          {t.attention.verbs[action]}
        </button>
      ))}
    </span>
  );
}
