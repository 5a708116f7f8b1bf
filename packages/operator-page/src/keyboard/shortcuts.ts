/** What a shortcut does. `go-…` are two keys, one after the other. */
export const SHORTCUTS = {
  search: '/',
  help: '?',
  refresh: 'r',
  next: 'j',
  previous: 'k',
  'go-now': 'g n',
  'go-orders': 'g o',
  'go-parked': 'g p',
  'go-unmatched': 'g u',
  'go-refunds': 'g r',
  'go-messages': 'g m',
} as const;

export type ShortcutName = keyof typeof SHORTCUTS;

const PATIENCE_MS = 1_200;

/** Recognizes shortcuts in the keys that are pressed. */
export class ShortcutReader {
  private first: { readonly key: string; readonly at: number } | undefined;

  /** @param at milliseconds, of any clock that only goes forward */
  read(key: string, at: number): ShortcutName | undefined {
    const isSecond = this.first !== undefined && at - this.first.at <= PATIENCE_MS;
    const keys = isSecond && this.first ? `${this.first.key} ${key}` : key;
    this.first = undefined;
    const found = named(keys) ?? named(key);
    if (found === undefined && beginsOne(key)) this.first = { key, at };
    return found;
  }
}

function named(keys: string): ShortcutName | undefined {
  return (Object.keys(SHORTCUTS) as ShortcutName[]).find((name) => SHORTCUTS[name] === keys);
}

function beginsOne(key: string): boolean {
  return Object.values(SHORTCUTS).some((keys) => keys.startsWith(`${key} `));
}
