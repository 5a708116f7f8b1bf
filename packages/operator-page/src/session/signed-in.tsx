import { type ComponentChildren, type JSX } from 'preact';
import { useCallback, useMemo, useState } from 'preact/hooks';
import { PollBoard } from '../poll/poll-board';
import { Shell } from '../shell/shell';
import { Notices, type Notice } from '../shell/notices';
import { type App, AppContext, type Tone } from './app-context';

type Given = Omit<App, 'polls' | 'announce' | 'showDialog'>;

/** The page of somebody who is signed in: its views, the dialog over them, and its notices. */
export function SignedIn(given: Given): JSX.Element {
  const polls = useMemo(() => new PollBoard(), []);
  const [dialog, showDialog] = useState<ComponentChildren>(null);
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const dismiss = useCallback((id: number) => setNotices((shown) => shown.filter((notice) => notice.id !== id)), []);
  const announce = useCallback((text: string, tone: Tone = 'ok') => {
    setNotices((shown) => [...shown, { id: (shown.at(-1)?.id ?? 0) + 1, text, tone }]);
  }, []);
  return (
    <AppContext.Provider value={{ ...given, polls, announce, showDialog }}>
      <Shell />
      {dialog}
      <Notices notices={notices} onDismiss={dismiss} />
    </AppContext.Provider>
  );
}
