import { setTimeout as sleep } from 'node:timers/promises';
import { bulkhead } from 'cockatiel';
import { RunError } from '../run-error';

/** How a request ended. */
export type Answer =
  { readonly type: 'accepted' } | { readonly type: 'refused'; readonly code: string; readonly says: string };

interface Habits {
  /** Of the processes that run now. */
  readonly urls: () => readonly string[];
  readonly apiKey: string;
  /** Longer than the service is ever away. */
  readonly patienceMs: number;
  readonly requestLimitMs: number;
  /** Before the second try; each further pause is twice as long, up to `MOST_PAUSES` times the first one. */
  readonly pauseMs: number;
  /** Answers with such a status are not taken for one. */
  readonly isTemporary: (status: number) => boolean;
  readonly signal: AbortSignal;
}

const MOST_PAUSES = 16;

/**
 * As the connections of an HTTP client's pool. Without such a limit, 3,000 callers who give up after 3 s and ask again
 * keep a service that gets a sixth of a core from answering any of them in time.
 */
const MOST_AT_ONCE = 200;

/** A shop that asks one process of the service after the other until one answers: every request is idempotent. */
export class ShopCaller {
  private turn = 0;
  private readonly pool = bulkhead(MOST_AT_ONCE, Infinity);

  constructor(private readonly habits: Habits) {}

  /** @throws RunError when nobody answers for as long as it has patience. */
  async send(method: string, path: string, body: unknown): Promise<Answer> {
    const { patienceMs, pauseMs, signal } = this.habits;
    const endsAt = performance.now() + patienceMs;
    for (let pauses = 1; ; pauses = Math.min(pauses * 2, MOST_PAUSES)) {
      const answer = await this.pool.execute(() => this.tryOnce(method, path, body));
      if (typeof answer !== 'string') return answer;
      if (performance.now() > endsAt) {
        throw new RunError(`${method} ${path} got no answer for ${patienceMs / 1_000} s: ${answer}`);
      }
      // A thousand shops that wait for one service must not keep it busy with their questions.
      await sleep(pauseMs * pauses * (0.5 + Math.random() / 2), undefined, { signal });
    }
  }

  /** @returns why to try again, as text. */
  private async tryOnce(method: string, path: string, body: unknown): Promise<Answer | string> {
    const { apiKey, requestLimitMs, isTemporary, signal } = this.habits;
    const urls = this.habits.urls();
    const url = urls[this.turn++ % Math.max(urls.length, 1)];
    if (url === undefined) return 'no process runs';
    const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
    try {
      // Not together with `signal`: Node 20 keeps each such pair for as long as that one lives.
      const limit = AbortSignal.timeout(requestLimitMs);
      const response = await fetch(url + path, { method, headers, body: JSON.stringify(body), signal: limit });
      const text = await response.text();
      if (response.ok) return { type: 'accepted' };
      if (isTemporary(response.status)) return `${response.status} ${text}`;
      const { code = text, detail = '' } = JSON.parse(text) as { code?: string; detail?: string };
      return { type: 'refused', code, says: `${method} ${path}: ${response.status} ${code}: ${detail}` };
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof Error ? error.message : String(error);
    }
  }
}
