import { type Placed } from '../playing/placed-order';
import { PROVIDERS, type ProviderName } from '../scenario';
import { type Stage } from '../stage/open-stage';
import { type Violation } from './violation';

/** What was forged at one provider, and what the service says of it. */
export interface UntrustedCount {
  readonly provider: ProviderName;
  /** Notifications that the run forged. */
  readonly forged: number;
  /** With those of stories that were broken off. */
  readonly mostForged: number;
  /** `order_timeout_untrusted_total` of both processes. */
  readonly notifications: number;
  /** Answers that the run spoiled, at least. */
  readonly spoiled: number;
  readonly answers: number;
  /** Lines in the logs that tell of a notification. */
  readonly logged: number;
}

export async function countUntrusted(stage: Stage, orders: readonly Placed[]): Promise<UntrustedCount[]> {
  const metrics = (await Promise.all(stage.shops.map((shop) => shop.metrics()))).join('\n');
  const logs = stage.logs();
  const counter = (provider: string, source: string): number => {
    const line = new RegExp(
      `^order_timeout_untrusted_total\\{provider="${provider}",source="${source}"\\} (\\d+)`,
      'gm',
    );
    return [...metrics.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  return PROVIDERS.map((provider) => {
    const all = orders.filter((order) => order.provider === provider);
    const mine = all.filter(({ isTooLate }) => !isTooLate).map(({ plan }) => plan.ends);
    return {
      provider,
      forged: mine.reduce((sum, { forgeries = 0 }) => sum + forgeries, 0),
      mostForged: all.reduce((sum, { plan }) => sum + (plan.ends.forgeries ?? 0), 0),
      notifications: counter(provider, 'notification'),
      spoiled: mine.reduce((sum, { untrustedAnswers = 0 }) => sum + untrustedAnswers, 0),
      answers: counter(provider, 'answer'),
      logged: logs.split(`${provider}: untrusted notification`).length - 1,
    };
  });
}

/** Every forgery was noticed, counted and logged; nothing true was taken for one. */
export function checkUntrusted(counts: readonly UntrustedCount[]): Violation[] {
  return counts.flatMap(({ provider, forged, mostForged, notifications, spoiled, answers, logged }): Violation[] => {
    const problems: string[] = [];
    if (notifications < forged || notifications > mostForged)
      problems.push(`${notifications} of ${forged} forged notifications were counted`);
    if (logged !== notifications) problems.push(`${logged} of ${notifications} refused notifications were logged`);
    if (answers < spoiled) problems.push(`${answers} of ${spoiled} spoiled answers were counted`);
    return problems.map((says) => ({ kind: 'other', says: `${provider}: ${says}` }));
  });
}
