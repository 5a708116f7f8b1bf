import { type Browser } from 'playwright-core';
import { builtOperatorPage } from '../support/built-operator-page';
import { type Looks, openPage, type OpenPage, startBrowser } from './browser';
import { PageServer } from './page-server';
import { RecordedApi } from './recorded-api';
import { NOW } from './recorded/overview';

/** A browser, and a server with the page and its recorded API. */
export class Stage {
  private readonly opened: OpenPage[] = [];

  private constructor(
    readonly api: RecordedApi,
    private readonly browser: Browser,
    private readonly server: PageServer,
    private readonly url: string,
  ) {}

  static async build(): Promise<Stage> {
    const api = new RecordedApi();
    const server = new PageServer(builtOperatorPage(), api);
    return new Stage(api, await startBrowser(), server, await server.start());
  }

  /** Opens a view at the recorded moment, and waits until it has loaded. */
  async open(hash: string, looks: Looks = {}): Promise<OpenPage> {
    const opened = await openPage(this.browser, looks);
    this.opened.push(opened);
    await opened.page.clock.setFixedTime(NOW);
    await opened.page.goto(`${this.url}${hash}`);
    await opened.page.locator('h1').waitFor();
    await opened.page.locator('main:not(:has([aria-busy]))').waitFor();
    return opened;
  }

  /** Closes what a test has opened. Returns what the browser complained about. */
  async tidy(): Promise<string[]> {
    const complaints = this.opened.flatMap((opened) => opened.complaints);
    for (const { context } of this.opened.splice(0)) await context.close();
    this.api.reset();
    return complaints;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
  }
}
