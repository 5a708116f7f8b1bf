import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Overview } from '../api/contract';
import { usePoll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { useRoute } from '../route/use-route';
import { Navigation } from './navigation';
import { TopBar } from './top-bar';
import { titleOf, View } from './view';
import { useShortcuts } from './use-shortcuts';

const OVERVIEW_MS = 2_000;
/** The numbers beside the views change slowly enough where nobody watches them. */
const NUMBERS_MS = 10_000;

/** The frame around all views. */
export function Shell(): JSX.Element {
  const { api, t } = useApp();
  const route = useRoute();
  const [isMenuOpen, openMenu] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const isNow = route.view === 'now';
  const overview = usePoll((signal) => api.get<Overview>('overview', {}, signal), isNow ? OVERVIEW_MS : NUMBERS_MS, []);
  const title = titleOf(route, t);
  useShortcuts();
  useTitleFocus(title, `${route.view}/${route.id}`, heading, t.shell.product);
  useEffect(() => openMenu(false), [window.location.hash]);

  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(event) => skip(event, heading.current)}>
        {t.shell.skipToContent}
      </a>
      <Navigation route={route} attention={overview.data?.attention} isOpen={isMenuOpen} />
      <div class="page">
        <TopBar isMenuOpen={isMenuOpen} onMenu={() => openMenu(!isMenuOpen)} />
        <main id="content" class="content">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <View route={route} overview={overview} />
        </main>
      </div>
    </div>
  );
}

/** The address after `#` is the route, so the link must not change it. */
function skip(event: Event, heading: HTMLElement | null): void {
  event.preventDefault();
  heading?.focus();
}

/** A new view begins at its heading, as a new page would. */
function useTitleFocus(
  title: string,
  place: string,
  heading: { readonly current: HTMLElement | null },
  product: string,
): void {
  const before = useRef<string>(undefined);
  useEffect(() => {
    document.title = `${title} – ${product}`;
    if (before.current !== undefined && before.current !== place) {
      window.scrollTo(0, 0);
      heading.current?.focus();
    }
    before.current = place;
  }, [title, place, product]);
}
