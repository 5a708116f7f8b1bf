import { fromAgenda } from '../../../examples/moving/from-agenda';

interface Document {
  readonly name: string;
  readonly nextRunAt: Date | null;
  readonly disabled?: boolean;
  readonly data: { readonly orderId: string };
}

const AT = new Date('2030-03-01T12:00:00Z');
const job = (orderId: string, changes: Partial<Document> = {}): Document => ({
  name: 'close order',
  nextRunAt: AT,
  data: { orderId },
  ...changes,
});

/** Does what MongoDB does of a filter of equalities and `$ne`; a missing field is undefined, and `$ne: null` excludes it. */
class Collection {
  constructor(private readonly documents: readonly Document[]) {}

  async *find(filter: object): AsyncGenerator<Document & { nextRunAt: Date }> {
    const conditions = Object.entries(filter) as [keyof Document, unknown][];
    const holds = (value: unknown, wanted: unknown): boolean =>
      typeof wanted === 'object' && wanted !== null && '$ne' in wanted
        ? (value ?? null) !== (wanted.$ne ?? null)
        : value === wanted;
    for (const one of this.documents)
      if (conditions.every(([name, wanted]) => holds(one[name], wanted))) yield one as Document & { nextRunAt: Date };
  }
}

async function read(documents: readonly Document[]) {
  const pages = [];
  for await (const page of fromAgenda(new Collection(documents), 'close order')) pages.push(page);
  return pages;
}

describe('the import from Agenda', () => {
  it('reads the jobs that wait', async () => {
    const done = job('o-done', { nextRunAt: null });
    const disabled = job('o-disabled', { disabled: true });
    const other = job('o-other', { name: 'send mail' });
    expect(await read([job('o-1'), done, disabled, other, job('o-2')])).toEqual([
      [
        { orderId: 'o-1', dueAt: AT },
        { orderId: 'o-2', dueAt: AT },
      ],
    ]);
  });

  it('makes pages of 1,000', async () => {
    const pages = await read(Array.from({ length: 2_001 }, (_, index) => job(`o-${index}`)));
    expect(pages.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
    expect(new Set(pages.flat().map(({ orderId }) => orderId)).size).toBe(2_001);
  });

  it('reads no page where nothing waits', async () => {
    expect(await read([])).toEqual([]);
  });
});
