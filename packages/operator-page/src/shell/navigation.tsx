import { type JSX } from 'preact';
import { type Attention } from '../api/contract';
import { formatRoute, type Route, type ViewName } from '../route/route';
import { useApp } from '../session/app-context';
import { Count } from '../ui/values';
import { Preferences } from './preferences';

interface NavigationProps {
  readonly route: Route;
  readonly attention: Attention | undefined;
  /** On a phone it opens by the menu. */
  readonly isOpen: boolean;
}

/** The views, with how many things wait in each. */
export function Navigation({ route, attention, isOpen }: NavigationProps): JSX.Element {
  const { t, session } = useApp();
  const link = (view: ViewName, count?: number | null): JSX.Element => (
    <NavigationLink
      view={view}
      count={count}
      isCurrent={route.view === view || (view === 'orders' && route.view === 'order')}
    />
  );
  return (
    <aside class={`side ${isOpen ? 'side-open' : ''}`} id="side" aria-label={t.shell.product}>
      <p class="brand">{t.shell.product}</p>
      <nav aria-label={t.shell.mainNavigation}>
        <h2 class="side-title">{t.shell.watch}</h2>
        <ul>
          {link('now')}
          {link('orders')}
        </ul>
        <h2 class="side-title">{t.shell.needsAttention}</h2>
        <ul>
          {link('parked', attention?.parkedTimeouts)}
          {link('unmatched', attention?.unmatchedPayments)}
          {link('refunds', attention?.refundsFailed)}
          {session.merchants === null && link('messages', attention?.parkedMessages)}
        </ul>
      </nav>
      <Preferences />
    </aside>
  );
}

interface LinkProps {
  readonly view: ViewName;
  readonly count: number | null | undefined;
  readonly isCurrent: boolean;
}

function NavigationLink({ view, count, isCurrent }: LinkProps): JSX.Element {
  const { t } = useApp();
  return (
    <li>
      <a href={formatRoute(view)} {...(isCurrent ? { 'aria-current': 'page' as const } : {})}>
        <span>{t.shell[view]}</span>
        {typeof count === 'number' && count > 0 && (
          <span class="side-count">
            <Count value={count} />
          </span>
        )}
      </a>
    </li>
  );
}
