import { type JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiClient } from './api/api-client';
import { type Session } from './api/contract';
import { ServerClock } from './api/server-clock';
import { CATALOGUES, type Language, LOCALES } from './i18n/language';
import { Login } from './login/login';
import { storedLanguage, storedTheme, storeLanguage, storeTheme, type Theme } from './session/preferences';
import { SignedIn } from './session/signed-in';

/** Undefined: not known yet. Null: nobody is signed in. */
type Known = Session | null | undefined;

/** The whole page: the sign-in, or the views. */
export function Root(): JSX.Element | null {
  const [session, setSession] = useState<Known>(undefined);
  const [hasEnded, setEnded] = useState(false);
  const [language, setLanguage] = useState(storedLanguage);
  const [theme, setTheme] = useState(storedTheme);

  const clock = useMemo(() => new ServerClock(() => Date.now()), []);
  const api = useMemo(() => {
    const onSignedOut = (): void => {
      setSession(null);
      setEnded(true);
    };
    return new ApiClient({ fetch: (...request) => fetch(...request), clock, onSignedOut });
  }, [clock]);
  api.csrf = session?.csrf;

  useEffect(() => {
    api.get<Session>('session').then(setSession, () => setSession(null));
  }, [api]);
  useEffect(() => follow(language, theme), [language, theme]);

  const t = CATALOGUES[language];
  const locale = LOCALES[language];
  if (session === undefined) return null;
  if (session === null) return <Login api={api} t={t} hasEnded={hasEnded} onSignedIn={setSession} />;
  const signOut = async (): Promise<void> => {
    await api.delete('session').catch(() => undefined);
    setEnded(false);
    setSession(null);
  };
  return (
    <SignedIn
      {...{ api, clock, session, t, locale, language, theme, setLanguage, setTheme, signOut }}
      key={session.name}
    />
  );
}

function follow(language: Language, theme: Theme): void {
  document.documentElement.lang = LOCALES[language];
  document.documentElement.dataset['theme'] = theme;
  storeLanguage(language);
  storeTheme(theme);
}
