import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { answerOf } from '../../support/until';
import { connectTo, serverUrl } from '../../support/database';
import { WatchedDemo } from '../../support/watched-demo';

/** Packages and the build may have to be made first. */
const LIMIT_MS = 300_000;
/** What has been told to end may be listed for a moment longer. */
const ENDED_WITHIN_MS = 10_000;
const SEEN_WITHIN_MS = 30_000;

/** What the database did not answer in time is null. */
interface Overview {
  readonly orders: { readonly pending: number; readonly paid24h: number } | null;
  readonly attention: { readonly unmatchedPayments: number | null };
}

/** A desktop whose browser only notes the address. */
function aDesktop(folder: string): NodeJS.ProcessEnv {
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(programs, name), `#!/bin/sh\necho "$1" > '${folder}/opened'\n`);
    chmodSync(join(programs, name), 0o755);
  }
  return { DISPLAY: ':0', PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` };
}

/** Processes with this folder in their environment. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder);
    } catch {
      return false; // It has ended, or belongs to somebody else.
    }
  });
}

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8') || undefined;
  } catch {
    return undefined;
  }
};

function hasMoved({ orders, attention }: Overview, before: Overview): boolean {
  const { pending = 0, paid24h = 0 } = orders ?? {};
  const morePlaced = pending > (before.orders?.pending ?? 0);
  return morePlaced && paid24h > (before.orders?.paid24h ?? 0) && (attention.unmatchedPayments ?? 0) > 0;
}

async function signIn({ address, key }: WatchedDemo): Promise<() => Promise<Overview>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${address}api/session`, { method: 'POST', headers, body: JSON.stringify({ key }) });
  expect(answer.status).toBe(200);
  const [cookie = ''] = answer.headers.getSetCookie().map((line) => line.split(';')[0]);
  return async () => (await fetch(`${address}api/overview`, { headers: { cookie } })).json() as Promise<Overview>;
}

describe('npm run demo -- --watch', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'order-timeout-watched-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['with a broker', process.env.RABBITMQ_URLS],
    ['without a broker', 'none'],
  ])(
    'shows orders flow through the operator page until Ctrl-C, and leaves nothing, %s',
    async (_, broker) => {
      const servers = { DATABASE_URL: serverUrl(), RABBITMQ_URLS: broker };
      const demo = await WatchedDemo.start([], { ...process.env, ...aDesktop(folder), ...servers, TMPDIR: folder });
      let isOver = false;
      try {
        const page = await fetch(demo.address);
        expect(await page.text()).toMatch(/<script type="module"[^>]* src="\.\/app-\w+\.js"/);
        expect((await fetch(`${demo.address}api/overview`)).status).toBe(401);
        expect(await answerOf('the browser', SEEN_WITHIN_MS, undefined, async () => read(join(folder, 'opened')))).toBe(
          `${demo.address}\n`,
        );
        const look = await signIn(demo);
        const before = await look();
        await answerOf('more orders, and money for a person', SEEN_WITHIN_MS, undefined, async () => {
          return hasMoved(await look(), before) || undefined;
        });
        expect(processesOf(folder).length).toBeGreaterThan(2);
        expect(await demo.interrupt()).toBe(0);
        isOver = true;
        expect(demo.output).toMatch(/\d+ orders: .*\d+ PENDING/);
      } finally {
        if (!isOver) await demo.interrupt();
      }
      await answerOf('its processes to end', ENDED_WITHIN_MS, undefined, async () => {
        return processesOf(folder).length === 0 || undefined;
      });
      expect(readdirSync(folder).filter((name) => name.startsWith('order-timeout-'))).toEqual([]);
      const [, database = ''] = /database (\w+)/.exec(demo.output) ?? [];
      const server = await connectTo(serverUrl(), 1);
      expect(await server.query(`SELECT 1 FROM pg_database WHERE datname = '${database}'`)).toEqual([]);
      await server.destroy();
    },
    LIMIT_MS,
  );
});
