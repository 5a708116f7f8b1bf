import { CATALOGUES, chooseLanguage, nameOf } from '../../../packages/operator-page/src/i18n/language';

/** Every message with its path; functions are called with placeholders. */
function messagesOf(catalog: object, path = ''): [string, string][] {
  return Object.entries(catalog).flatMap(([name, value]): [string, string][] => {
    const here = `${path}.${name}`;
    if (typeof value === 'string') return [[here, value]];
    if (typeof value === 'function') return [[here, String((value as (...values: string[]) => string)('{1}', '{2}'))]];
    return messagesOf(value as object, here);
  });
}

describe('the message catalogs', () => {
  const en = new Map(messagesOf(CATALOGUES.en));
  const zh = new Map(messagesOf(CATALOGUES.zh));

  it('have the same messages, none of them empty', () => {
    expect([...zh.keys()].sort()).toEqual([...en.keys()].sort());
    expect([...en, ...zh].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  it('use the same values in each message', () => {
    const valuesOf = (text: string | undefined): string[] => (text ?? '').match(/\{\d\}/g)?.sort() ?? [];
    const different = [...en].filter(([name, text]) => valuesOf(text).join() !== valuesOf(zh.get(name)).join());
    expect(different).toEqual([]);
  });

  it('are translated, except for what has no other name in Chinese', () => {
    const same = [...en].filter(([name, text]) => zh.get(name) === text).map(([name]) => name);
    expect(same).toEqual(['.order.sku']);
  });
});

describe('the language of the page', () => {
  it.each([
    [null, ['zh-TW', 'en'], 'zh'],
    [null, ['fr-FR', 'en-GB', 'zh'], 'en'],
    [null, ['fr-FR'], 'en'],
    ['zh', ['en-US'], 'zh'],
    ['tlh', ['zh-CN'], 'zh'],
  ])('is, after the choice %p and the preferences %p, %s', (chosen, preferred, language) => {
    expect(chooseLanguage(chosen, preferred)).toBe(language);
  });

  it('leaves a value that it does not know as it is', () => {
    expect(nameOf({ PAID: 'Paid' }, 'toString')).toBe('toString');
  });
});
