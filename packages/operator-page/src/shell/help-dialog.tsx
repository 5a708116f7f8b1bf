import { type JSX } from 'preact';
import { SHORTCUTS, type ShortcutName } from '../keyboard/shortcuts';
import { useApp } from '../session/app-context';
import { Dialog } from '../ui/dialog';

/** The keyboard shortcuts. */
export function HelpDialog(): JSX.Element {
  const { t, showDialog } = useApp();
  const names = Object.keys(SHORTCUTS) as ShortcutName[];
  return (
    <Dialog title={t.shell.shortcuts} onClose={() => showDialog(null)}>
      <dl class="shortcuts">
        {names.map((name) => (
          <div key={name}>
            <dt>
              {SHORTCUTS[name].split(' ').map((key, index) => (
                <>
                  {index > 0 && <span> {t.shell.then} </span>}
                  <kbd>{key}</kbd>
                </>
              ))}
            </dt>
            <dd>{t.shell.shortcutNames[name]}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
