import fc from 'fast-check';
import { type AttackStage, LEAK, openAttackStage } from './attack-stage';
import { type Payer, type Post } from './payers';

const RUNS = 50;
const AT_ONCE = 25;

const byte = fc.integer({ min: 0, max: 255 });

/** One small change to a genuine body. */
const bodyChange: fc.Arbitrary<(body: Buffer) => Buffer> = fc.oneof(
  fc.tuple(fc.nat(), byte).map(([at, value]) => (body: Buffer) => {
    const copy = Buffer.from(body);
    copy[at % body.length] = value;
    return copy;
  }),
  fc.tuple(fc.nat(), byte).map(([at, value]) => (body: Buffer) => {
    const cut = at % (body.length + 1);
    return Buffer.concat([body.subarray(0, cut), Buffer.of(value), body.subarray(cut)]);
  }),
  fc.nat().map((at) => (body: Buffer) => body.subarray(0, at % body.length)),
  fc.nat().map((at) => (body: Buffer) => Buffer.concat([body, body.subarray(at % body.length)])),
  fc
    .constantFrom<[string, string]>(
      ['1999', '1'],
      ['19.99', '0.01'],
      ['ref-', 'xef-'],
      ['"pi_1"', '"pi_2"'],
      ['n-1', 'n-2'],
    )
    .map(
      // prettier-ignore
      ([from, to]) => (body: Buffer) => Buffer.from(body.toString().replace(from, to)),
    ),
);

/** One small change to a genuine header. Blanks around a value are no part of it. */
const headerChange: fc.Arbitrary<(headers: Post['headers']) => Post['headers']> = fc
  .tuple(fc.nat(), fc.nat(), fc.constantFrom('drop', 'cut', '!', '0', 'A', '=', ',', '|', '\u00ff'))
  .map(([which, at, how]) => (headers) => {
    const names = Object.keys(headers);
    const name = names[which % names.length] ?? '';
    const value = headers[name] ?? '';
    const cut = at % (value.length + 1);
    if (how === 'drop') return Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));
    return {
      ...headers,
      [name]: how === 'cut' ? value.slice(0, cut) : value.slice(0, cut) + how + value.slice(cut + 1),
    };
  });

const garbage = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.dictionary(fc.string(), fc.string()).map((fields) => Buffer.from(new URLSearchParams(fields).toString())),
  fc.constantFrom(1, 1_000, 60_000).map((depth) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))),
);

/** Makes a forgery of a genuine notification. */
type Forge = (genuine: Post) => Post;

const forge: fc.Arbitrary<Forge> = fc.oneof(
  { weight: 4, arbitrary: bodyChange.map((change): Forge => ({ headers, body }) => ({ headers, body: change(body) })) },
  {
    weight: 3,
    arbitrary: headerChange.map((change): Forge => ({ headers, body }) => ({ headers: change(headers), body })),
  },
  { weight: 1, arbitrary: garbage.map((body): Forge => ({ headers }) => ({ headers, body })) },
  { weight: 1, arbitrary: garbage.map((body): Forge => () => ({ headers: {}, body })) },
);

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('fuzzed payment notifications', () => {
  let stage: AttackStage;

  beforeAll(async () => {
    stage = await openAttackStage({ RATE_LIMIT_FORGERIES_PER_SECOND: '0' });
  });
  afterAll(() => stage.close());

  const post = (name: string, { headers, body }: Post) =>
    stage.ask({ method: 'POST', path: `/payments/${name}/notify`, headers: Object.entries(headers), body });

  async function attack(payer: Payer, forger: Forge): Promise<boolean> {
    const genuine = payer.paid();
    const forged = forger(genuine);
    // Another spelling of what the provider did sign is no forgery, e.g. %2f for %2F.
    if (payer.meaning(forged) === payer.meaning(genuine)) return false;
    const { status, text } = await post(payer.name, forged);
    const about = `${payer.name} ${JSON.stringify(forged.headers)} ${forged.body.toString('latin1')} => ${status} ${text}`;
    if (status < 400 || status >= 500 || LEAK.test(text)) throw new Error(`not refused in order: ${about}`);
    return true;
  }

  it.each([0, 1, 2])(
    'of provider %s are all refused and pay nothing',
    async (at) => {
      const payer = stage.payers[at];
      if (!payer) throw new Error('no payer');
      const before = await stage.fingerprint();
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(forge, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (forgers) => {
          const sent = await Promise.all(forgers.map((forger) => attack(payer, forger)));
          count += sent.filter(Boolean).length;
        }),
        { numRuns: RUNS, endOnFailure: true, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
      );
      if (process.env.TEST_FIGURES) process.stderr.write(`${payer.name}: ${count} forgeries\n`);
      expect(count).toBeGreaterThan((RUNS * AT_ONCE) / 2);
      expect(await stage.fingerprint()).toBe(before);
    },
    60_000,
  );

  it('are refused with the signature of one provider at the address of another', async () => {
    const before = await stage.fingerprint();
    for (const { name } of stage.payers) {
      for (const other of stage.payers.filter((payer) => payer.name !== name)) {
        const { status } = await post(name, other.paid());
        expect([name, other.name, status >= 400 && status < 500]).toEqual([name, other.name, true]);
      }
    }
    expect(await stage.fingerprint()).toBe(before);
  });

  // Last: proof that what was mutated above is what pays an order when it is left as it is.
  it('are believed when they are genuine', async () => {
    for (const payer of stage.payers) {
      expect((await post(payer.name, payer.paid())).status).toBeLessThan(300);
      expect((await stage.service.call('get', `/orders/seed-${payer.name}`)).body.status).toBe('PAID');
    }
  });
});
