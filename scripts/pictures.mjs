// npm run pictures: records the operator page while the demo runs, for README.md.
import { ensureChromium } from './operator/chromium.mjs';
import { ensureDebianPackages } from './operator/debian-packages.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const chromium = await showProgress('Chromium', (note) => ensureChromium({ signal, note }));
  await showProgress('img2webp', (note) =>
    ensureDebianPackages(['webp'], {
      ...{ signal, note },
      ...{ code: 'NO_IMG2WEBP', otherwise: 'run the command on a machine with Debian' },
    }),
  );
  return runTypescript('test/operator/film/main.ts', args, { env: { CHROMIUM: chromium }, signal });
});
