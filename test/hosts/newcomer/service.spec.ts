import { freePort } from '../../support/servers/free-port';
import { Newcomer } from './newcomer';

/** As the page promises. The first build of a clone is a part of it. */
const LIMIT_MS = 3 * 60_000;

describe('a new user of the service, with nothing but README.md,', () => {
  let newcomer: Newcomer;

  // One clone, so that it is built once.
  beforeAll(async () => {
    newcomer = await Newcomer.arrive();
  });
  afterEach(() => newcomer.closeTerminals());
  afterAll(() => newcomer.leave());

  it(
    'closes an order over HTTP in three minutes',
    async () => {
      const port = await freePort();
      const terminal = await newcomer.follow('### Over HTTP', { port, ready: /listening on/ });
      const answers = terminal.output.split('\n').filter((line) => line.startsWith('{'));
      expect(answers.map((answer) => (JSON.parse(answer) as { status: string }).status)).toEqual(['PENDING', 'CLOSED']);
    },
    LIMIT_MS,
  );

  it(
    'closes an order over AMQP in three minutes',
    async () => {
      const terminal = await newcomer.follow('### Over AMQP', { port: await freePort(), ready: /listening on/ });
      expect(terminal.output).toMatch(/^amqp-\d+ is closed$/m);
    },
    LIMIT_MS,
  );
});
