import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type ApiRequest } from './api-request';
import { HttpProblem } from './http-problem';
import { remoteNetworkOf } from './remote-network-of';

/** How much the HTTP API takes, in each process by itself. */
export interface RateLimitOptions {
  /** Requests per second with one API key; 0: any number. @default 1000 */
  readonly perKey?: number;
  /** Wrong keys and forged notifications per second from one address; 0: any number. @default 20 */
  readonly failuresPerAddress?: number;
}

/** A shop at ten times the load that one process carries stays below it; a loop that went wrong does not. */
const PER_KEY = 1_000;
/** A person who mistypes and a provider whose key was changed stay below it. */
const FAILURES_PER_ADDRESS = 20;
const MAX = 1_000_000;

/** Everything that is wrong with the options. */
export function findRateLimitProblems({ perKey, failuresPerAddress }: RateLimitOptions): string[] {
  const limits = Object.entries({ perKey, failuresPerAddress });
  const wrong = limits.filter(([, limit]) => limit !== undefined && !isLimit(limit));
  return wrong.map(([name]) => `rateLimits.${name} must be an integer from 0 (off) to ${MAX}`);
}

/**
 * Refuses what comes too fast. A wrong key costs its address something, a right one never pays for it: behind a proxy
 * the shop may share the address of whoever guesses.
 */
export class RateLimits {
  private readonly keys: RateLimiterMemory | undefined;
  private readonly failures: RateLimiterMemory | undefined;

  constructor({ perKey = PER_KEY, failuresPerAddress = FAILURES_PER_ADDRESS }: RateLimitOptions) {
    this.keys = limiter(perKey);
    this.failures = limiter(failuresPerAddress);
  }

  /** A request with a key that is known. @throws HttpProblem RATE_LIMITED */
  async useKey(name: string): Promise<void> {
    await take(this.keys, name, `more than ${this.keys?.points ?? 0} requests in a second with the key "${name}"`);
  }

  /** A request without a key that is known. @throws HttpProblem RATE_LIMITED instead of an answer about the key. */
  async fail(request: ApiRequest): Promise<void> {
    await take(this.failures, remoteNetworkOf(request), 'too many requests without a valid key or signature');
  }

  /** Notes a failure whose answer is fixed already. */
  async noteFailure(request: ApiRequest): Promise<void> {
    await this.failures?.penalty(remoteNetworkOf(request));
  }

  /** Before a signature is checked, which costs time. @throws HttpProblem RATE_LIMITED after too many failures. */
  async assertFewFailures(request: ApiRequest): Promise<void> {
    const state = await this.failures?.get(remoteNetworkOf(request));
    if (state && state.consumedPoints > (this.failures?.points ?? 0)) throw tooMany('too many forgeries', state);
  }
}

function isLimit(limit: number): boolean {
  return Number.isInteger(limit) && limit >= 0 && limit <= MAX;
}

function limiter(points: number): RateLimiterMemory | undefined {
  return points === 0 ? undefined : new RateLimiterMemory({ points, duration: 1 });
}

async function take(limiter: RateLimiterMemory | undefined, key: string, detail: string): Promise<void> {
  try {
    await limiter?.consume(key);
  } catch (error) {
    throw error instanceof RateLimiterRes ? tooMany(detail, error) : error;
  }
}

function tooMany(detail: string, { msBeforeNext }: RateLimiterRes): HttpProblem {
  return new HttpProblem('RATE_LIMITED', detail, {
    'Retry-After': String(Math.max(1, Math.ceil(msBeforeNext / 1_000))),
  });
}
