import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMain } from '../../support/run-main';
import { WatchedDemo } from '../../support/watched-demo';
import { openPage, startBrowser } from '../browser';
import { encodeFilm } from './encode-film';
import { Film } from './film';
import { signIn, takeTour, WARM_UP_MS } from './take-tour';

const PICTURE = join(__dirname, '../../../docs/pictures/operator-page.webp');
/** Wide enough for the layout of a desktop, and small enough for a page of text. */
const LOOKS = { width: 960, height: 640, colorScheme: 'light' } as const;

async function record(folder: string, signal: AbortSignal): Promise<void> {
  const demo = await WatchedDemo.start(['--seed', '7', '--no-browser']);
  const browser = await startBrowser();
  try {
    const { page } = await openPage(browser, LOOKS);
    await signIn(page, demo);
    process.stdout.write(`  the first orders come to their deadlines: ${WARM_UP_MS / 1_000} s\n`);
    await page.waitForTimeout(WARM_UP_MS);
    const film = new Film(page, folder);
    const shots = await film.during(takeTour(page), signal);
    const { bytes, seconds } = encodeFilm(shots, PICTURE);
    process.stdout.write(
      `  docs/pictures/operator-page.webp: ${shots.length} pictures, ${seconds} s, ${bytes} bytes\n`,
    );
  } finally {
    await browser.close();
    await demo.interrupt();
  }
}

runMain({
  name: 'The recording',
  usage: 'npm run suite -- film\n',
  run: async ({ signal }) => {
    const folder = mkdtempSync(join(tmpdir(), 'order-timeout-film-'));
    try {
      await record(folder, signal);
      return 0;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});
