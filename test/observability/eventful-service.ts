import { ShopLoad } from '../load/shop-load';
import { Incidents } from './incidents';
import { openScrapedService, type ScrapedService } from './scraped-service';

const ORDERS_PER_SECOND = 10;

/** A service under load, to which things have happened, and a Prometheus that has recorded them. */
export interface EventfulService {
  readonly stage: ScrapedService;
  readonly load: ShopLoad;
  /** When Prometheus began to scrape, in epoch milliseconds. */
  readonly fromMs: number;
  close(): Promise<void>;
}

/** Takes about half a minute. */
export async function openEventfulService(): Promise<EventfulService> {
  const stage = await openScrapedService();
  const fromMs = Date.now();
  const load = new ShopLoad(stage.service.url, ORDERS_PER_SECOND);
  await load.open();
  load.start();
  const incidents = new Incidents(stage);
  await incidents.pausedKind();
  await incidents.forgedAnswer();
  await incidents.providerAway();
  await incidents.latePayment();
  await incidents.unreadableMessage();
  await incidents.lostWakeUp();
  await incidents.parkedTimeout();
  await incidents.databaseAway();
  const close = async (): Promise<void> => {
    await load.stop();
    await stage.close();
  };
  return { stage, load, fromMs, close };
}
