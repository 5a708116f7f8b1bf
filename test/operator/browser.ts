import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Starts Chromium: that of the variable CHROMIUM, or of the machine. */
export function startBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) {
    throw new Error(
      'there is no Chromium: run npm run suite -- operator, which installs it, or set CHROMIUM to its path',
    );
  }
  // Chromium refuses to run as root in its sandbox. Fonts without hinting look the same on every screen.
  const args = ['--no-sandbox', '--font-render-hinting=none', '--disable-lcd-text'];
  return chromium.launch({ executablePath, args });
}

export interface Looks {
  readonly width?: number;
  readonly height?: number;
  readonly locale?: string;
  readonly colorScheme?: 'light' | 'dark';
}

/** A page of its own session, with every complaint of the browser, such as a violation of the content security policy. */
export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: readonly string[];
}

export async function openPage(browser: Browser, looks: Looks = {}): Promise<OpenPage> {
  const { width = 1360, height = 900, locale = 'en-US', colorScheme = 'light' } = looks;
  const context = await browser.newContext({
    viewport: { width, height },
    locale,
    colorScheme,
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  // A refused request is an answer that the page handles.
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  return { page, context, complaints };
}
