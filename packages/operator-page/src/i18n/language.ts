import { en, type Messages } from './en';
import { zh } from './zh';

export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

export const CATALOGUES: Readonly<Record<Language, Messages>> = { en, zh };

/** What `lang` of the document says, and what Intl formats for. */
export const LOCALES: Readonly<Record<Language, string>> = { en: 'en-US', zh: 'zh-CN' };

/** How a language calls itself. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };

/**
 * Pure: the language to begin with.
 *
 * @param chosen what the person chose before, if anything
 * @param preferred the languages of the browser, most preferred first
 */
export function chooseLanguage(chosen: string | null, preferred: readonly string[]): Language {
  const known = [chosen ?? '', ...preferred].map((tag) => tag.toLowerCase().split('-')[0]);
  return LANGUAGES.find((language) => language === known.find((tag) => tag === 'en' || tag === 'zh')) ?? 'en';
}

/** The message for a value of the service; a value that the page does not know yet is shown as it is. */
export function nameOf(names: Readonly<Record<string, string>>, value: string): string {
  return Object.hasOwn(names, value) ? (names[value] ?? value) : value;
}
