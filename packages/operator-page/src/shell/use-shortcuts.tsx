import { useEffect } from 'preact/hooks';
import { ShortcutReader, type ShortcutName } from '../keyboard/shortcuts';
import { type ViewName } from '../route/route';
import { goTo } from '../route/use-route';
import { type App, useApp } from '../session/app-context';
import { HelpDialog } from './help-dialog';

/** Follows the keyboard shortcuts, except while somebody types or a dialog is open. */
export function useShortcuts(): void {
  const app = useApp();
  useEffect(() => {
    const reader = new ShortcutReader();
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const name = reader.read(event.key, event.timeStamp);
      if (name === undefined) return;
      event.preventDefault();
      act(name, app);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
}

function act(name: ShortcutName, app: App): void {
  switch (name) {
    case 'search':
      return document.getElementById('search')?.focus();
    case 'help':
      return app.showDialog(<HelpDialog />);
    case 'refresh':
      return app.polls.refreshAll();
    case 'next':
      return moveRow(1);
    case 'previous':
      return moveRow(-1);
    default:
      return goTo(name.slice('go-'.length) as ViewName);
  }
}

/** The rows of a list are followed by their links. */
function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('main [data-row-link]')];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}
