import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Page } from 'playwright-core';

/** One picture of a film. */
export interface Shot {
  readonly file: string;
  readonly ms: number;
}

const EVERY_MS = 250;

/** Takes pictures of a page. */
export class Film {
  private readonly shots: { file: string; startsAt: number }[] = [];
  private latest: Uint8Array = new Uint8Array();

  constructor(
    private readonly page: Page,
    private readonly folder: string,
  ) {}

  /** Takes pictures until the scene has ended. @returns those that differ from the one before */
  async during(scene: Promise<void>, signal: AbortSignal): Promise<Shot[]> {
    let isOver = false;
    const ended = scene.finally(() => (isOver = true));
    // Its failure is told below, after the last picture.
    ended.catch(() => undefined);
    while (!isOver) {
      const nextAt = performance.now() + EVERY_MS;
      await this.shoot();
      await sleep(Math.max(nextAt - performance.now(), 0), undefined, { signal });
    }
    await ended;
    const endsAt = performance.now();
    return this.shots.map(({ file, startsAt }, index) => {
      const untilAt = this.shots[index + 1]?.startsAt ?? endsAt;
      return { file, ms: Math.round(untilAt - startsAt) };
    });
  }

  private async shoot(): Promise<void> {
    const startsAt = performance.now();
    const file = join(this.folder, `${String(this.shots.length).padStart(4, '0')}.png`);
    const picture = await this.page.screenshot({ path: file });
    if (picture.equals(this.latest)) return;
    this.latest = picture;
    this.shots.push({ file, startsAt });
  }
}
