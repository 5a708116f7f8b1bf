import { type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatRelative } from '../format/format-time';
import { useNow } from '../poll/use-now';
import { goTo } from '../route/use-route';
import { useApp } from '../session/app-context';
import { describeProblem } from '../ui/describe-problem';

interface TopBarProps {
  readonly isMenuOpen: boolean;
  readonly onMenu: () => void;
}

/** Search, and how fresh the view is. */
export function TopBar({ isMenuOpen, onMenu }: TopBarProps): JSX.Element {
  const { t } = useApp();
  return (
    <header class="top">
      <button type="button" class="menu-button" aria-expanded={isMenuOpen} aria-controls="side" onClick={onMenu}>
        {t.shell.menu}
      </button>
      <SearchBox />
      <Freshness />
    </header>
  );
}

function SearchBox(): JSX.Element {
  const { t } = useApp();
  const search = (event: SubmitEvent): void => {
    event.preventDefault();
    const text = new FormData(event.currentTarget as HTMLFormElement).get('q');
    if (typeof text === 'string' && text.trim() !== '') goTo('orders', { q: text.trim() });
  };
  return (
    <form class="search" role="search" onSubmit={search}>
      <input id="search" type="search" name="q" aria-label={t.shell.searchHint} placeholder={t.shell.searchHint} />
      <button type="submit">{t.shell.search}</button>
    </form>
  );
}

/** Not a live region: a screen reader would speak every second. */
function Freshness(): JSX.Element {
  const { t, polls, locale, clock } = useApp();
  const [state, setState] = useState(() => polls.summary());
  const now = useNow();
  useEffect(() => polls.subscribe(() => setState(polls.summary())), [polls]);
  const local = now - (clock.now() - Date.now());
  if (state.problem && state.retryAt !== undefined) {
    const seconds = Math.max(0, Math.ceil((state.retryAt - local) / 1_000));
    return (
      <div class="freshness freshness-bad">
        <span role="alert">{describeProblem(state.problem, t)}</span>
        <span class="number">{t.shell.retrying(seconds)}</span>
        <button type="button" onClick={() => polls.refreshAll()}>
          {t.shell.retryNow}
        </button>
      </div>
    );
  }
  const { loadedAt } = state;
  return (
    <div class="freshness">
      <span class="number">
        {loadedAt === undefined ? `${t.shell.loading}…` : t.shell.refreshed(formatRelative(loadedAt, local, locale))}
      </span>
      <button type="button" onClick={() => polls.refreshAll()}>
        {t.shell.refresh}
      </button>
    </div>
  );
}
