import { setTimeout as sleep } from 'node:timers/promises';
import { type Instance } from '../stage/instance';

/** How a request ended. */
export type Answer = { readonly type: 'accepted' } | { readonly type: 'refused'; readonly code: string };

const REQUEST_LIMIT_MS = 3_000;
const PAUSE_MS = 300;
/** Longer than any fault of the plan. */
const PATIENCE_MS = 120_000;

/** A shop that asks one instance after the other until one of them answers: every request is idempotent. */
export class Shop {
  private turn = 0;

  constructor(
    private readonly instances: readonly Instance[],
    private readonly apiKey: string,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws Error when nobody answers for two minutes. */
  async send(method: string, path: string, body: unknown): Promise<Answer> {
    const endsAt = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.tryOnce(method, path, body);
      if (typeof answer !== 'string') return answer;
      if (performance.now() > endsAt) throw new Error(`${method} ${path} got no answer for two minutes: ${answer}`);
      await sleep(PAUSE_MS, undefined, { signal: this.signal });
    }
  }

  /** @returns why to try again, as text. */
  private async tryOnce(method: string, path: string, body: unknown): Promise<Answer | string> {
    const running = this.instances.filter(({ isRunning }) => isRunning);
    const instance = running[this.turn++ % Math.max(running.length, 1)];
    if (!instance) return 'no instance runs';
    const headers = { 'content-type': 'application/json', 'x-api-key': this.apiKey };
    try {
      const signal = AbortSignal.any([this.signal, AbortSignal.timeout(REQUEST_LIMIT_MS)]);
      const response = await fetch(instance.url + path, { method, headers, body: JSON.stringify(body), signal });
      const text = await response.text();
      if (response.ok) return { type: 'accepted' };
      if (response.status >= 500 || response.status === 429) return `${response.status} ${text}`;
      return { type: 'refused', code: (JSON.parse(text) as { code?: string }).code ?? text };
    } catch (error) {
      this.signal.throwIfAborted();
      return error instanceof Error ? error.message : String(error);
    }
  }
}
