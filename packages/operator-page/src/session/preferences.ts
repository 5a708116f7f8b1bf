import { chooseLanguage, type Language } from '../i18n/language';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const LANGUAGE = 'order-timeout-operator.language';
const THEME = 'order-timeout-operator.theme';

export function storedLanguage(): Language {
  return chooseLanguage(read(LANGUAGE), navigator.languages);
}

export function storedTheme(): Theme {
  const stored = read(THEME);
  return THEMES.find((theme) => theme === stored) ?? 'auto';
}

export function storeLanguage(language: Language): void {
  write(LANGUAGE, language);
}

export function storeTheme(theme: Theme): void {
  write(THEME, theme);
}

/** A browser may forbid storage; a preference is then lost with the page. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Nothing to do: see read.
  }
}
