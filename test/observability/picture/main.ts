import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runMain } from '../../support/run-main';
import { startBrowser } from '../../operator/browser';
import { readDashboards } from '../../support/observability';
import { REPOSITORY } from '../../support/snippets';
import { openEventfulService } from '../eventful-service';
import { drawDashboard, WIDTH } from './draw-dashboard';

const FILE = join(REPOSITORY, 'docs', 'pictures', 'dashboard.png');
const DASHBOARD = 'order-timeout.json';
/** After the last incident, so that what it left is seen to stay or to go. */
const AFTERWARDS_MS = 20_000;

runMain({
  name: 'the picture of the dashboard',
  usage: 'npm run suite -- dashboard-picture: writes docs/pictures/dashboard.png. Takes about two minutes.\n',
  run: async ({ signal }) => {
    const eventful = await openEventfulService();
    try {
      await pause(AFTERWARDS_MS, undefined, { signal });
      const dashboard = readDashboards().find(({ file }) => file === DASHBOARD);
      if (!dashboard) throw new Error(`observability/dashboards has no ${DASHBOARD}`);
      const { fromMs, stage } = eventful;
      const seconds = Math.ceil((Date.now() - fromMs) / 1_000);
      await photograph(await drawDashboard(dashboard, { prometheus: stage.prometheus, fromMs, seconds }));
    } finally {
      await eventful.close();
    }
    return 0;
  },
});

async function photograph(html: string): Promise<void> {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 800 } });
    await page.setContent(html);
    writeFileSync(FILE, await page.screenshot({ fullPage: true }));
  } finally {
    await browser.close();
  }
}
