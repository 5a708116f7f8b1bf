import { type JSX } from 'preact';
import { LANGUAGE_NAMES, LANGUAGES } from '../i18n/language';
import { useApp } from '../session/app-context';
import { type Theme, THEMES } from '../session/preferences';
import { HelpDialog } from './help-dialog';

/** Who is signed in, language and colors. */
export function Preferences(): JSX.Element {
  const { t, session, signOut, showDialog } = useApp();
  return (
    <div class="side-foot">
      <LanguageSelect />
      <ThemeSelect />
      <p class="side-who">
        <strong>{t.shell.signedInAs(session.name)}</strong>
        <span>{session.roles.map((role) => t.shell.roles[role]).join(', ')}</span>
        {session.merchants && <span>{t.shell.onlyMerchants(session.merchants.join(', '))}</span>}
        <span>{t.shell.version(session.version)}</span>
      </p>
      <div class="side-buttons">
        <button type="button" onClick={() => showDialog(<HelpDialog />)}>
          {t.shell.shortcuts}
        </button>
        <button type="button" onClick={() => void signOut()}>
          {t.shell.signOut}
        </button>
      </div>
    </div>
  );
}

function LanguageSelect(): JSX.Element {
  const { t, language, setLanguage } = useApp();
  return (
    <label class="side-field">
      <span>{t.shell.language}</span>
      <select
        value={language}
        onChange={(event) => setLanguage(LANGUAGES.find((one) => one === event.currentTarget.value) ?? 'en')}
      >
        {LANGUAGES.map((one) => (
          <option value={one} lang={one}>
            {LANGUAGE_NAMES[one]}
          </option>
        ))}
      </select>
    </label>
  );
}

function ThemeSelect(): JSX.Element {
  const { t, theme, setTheme } = useApp();
  const names: Readonly<Record<Theme, string>> = {
    auto: t.shell.themeAuto,
    light: t.shell.themeLight,
    dark: t.shell.themeDark,
  };
  return (
    <label class="side-field">
      <span>{t.shell.theme}</span>
      <select
        value={theme}
        onChange={(event) => setTheme(THEMES.find((one) => one === event.currentTarget.value) ?? 'auto')}
      >
        {THEMES.map((one) => (
          <option value={one}>{names[one]}</option>
        ))}
      </select>
    </label>
  );
}
