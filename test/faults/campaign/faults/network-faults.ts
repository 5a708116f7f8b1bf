import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultInput } from 'nestjs-order-timeout-payment-simulator';
import { type Stage } from '../stage/open-stage';
import { type Fault } from './fault';

type Way = keyof Stage['ways'];

/** Half-open TCP: nothing goes through, and what was open then stays dead although new connections work again. */
export const swallow =
  (name: Way, minMs: number, maxMs: number): Fault =>
  async ({ stage, signal }, random, entry) => {
    const way = stage.ways[name];
    const ms = random.between(minMs, maxMs);
    entry.says = `for ${ms} ms`;
    way.swallow();
    await sleep(ms, undefined, { signal }).finally(() => way.restore());
  };

/** One connection after the other goes silent for good, as behind a firewall that forgets them; new ones work. */
export const silence =
  (name: Way): Fault =>
  async ({ stage, signal }, random, entry) => {
    const silencers = stage.ways[name].silencers();
    entry.says = `${silencers.length} connections`;
    for (const silenceOne of silencers) {
      silenceOne();
      await sleep(random.between(20, 400), undefined, { signal });
    }
  };

/** Every connection is reset. */
export const cut =
  (name: Way): Fault =>
  async ({ stage }) => {
    stage.ways[name].cut();
  };

/** The provider does something for a while to everybody who asks. */
export const misbehave =
  (faults: readonly FaultInput[], minMs: number, maxMs: number): Fault =>
  async ({ stage, signal }, random, entry) => {
    const forMs = random.between(minMs, maxMs);
    const fault = faults[random.between(0, faults.length - 1)];
    if (!fault) return;
    entry.says = `${fault.fault} for ${forMs} ms`;
    await stage.simulator.addFault({ ...fault, forMs });
    await sleep(forMs, undefined, { signal });
  };
