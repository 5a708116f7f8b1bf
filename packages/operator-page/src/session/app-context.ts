import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ApiClient } from '../api/api-client';
import { type Role, type Session } from '../api/contract';
import { type ServerClock } from '../api/server-clock';
import { type Messages } from '../i18n/en';
import { type Language } from '../i18n/language';
import { type PollBoard } from '../poll/poll-board';
import { type Theme } from './preferences';

/** What a notice is about, which decides its color and how a screen reader says it. */
export type Tone = 'ok' | 'bad';

/** What every part of the page may use once somebody is signed in. */
export interface App {
  readonly api: ApiClient;
  readonly clock: ServerClock;
  readonly session: Session;
  readonly t: Messages;
  readonly locale: string;
  readonly language: Language;
  readonly theme: Theme;
  readonly polls: PollBoard;
  readonly setLanguage: (language: Language) => void;
  readonly setTheme: (theme: Theme) => void;
  /** Shows a short notice, which screen readers say. */
  readonly announce: (text: string, tone?: Tone) => void;
  /** Opens a dialog over the page; null closes it. */
  readonly showDialog: (dialog: ComponentChildren) => void;
  readonly signOut: () => Promise<void>;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('useApp is used outside of the signed-in page');
  return app;
}

/** Whether the session has one of these roles. */
export function useMay(...roles: Role[]): boolean {
  const { session } = useApp();
  return roles.some((role) => session.roles.includes(role));
}
