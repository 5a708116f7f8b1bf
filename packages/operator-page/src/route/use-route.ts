import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route, type RouteQuery, formatRoute, type ViewName } from './route';

/** The route of the address bar. */
export function useRoute(): Route {
  const [hash, setHash] = useState(window.location.hash);
  useEffect(() => {
    const follow = (): void => setHash(window.location.hash);
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return parseRoute(hash);
}

export function goTo(view: ViewName, query: RouteQuery = {}, id = ''): void {
  window.location.hash = formatRoute(view, query, id);
}
