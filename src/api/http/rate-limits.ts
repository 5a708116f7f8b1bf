import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type ApiRequest, remoteNetworkOf } from './api-request';
import { HttpProblem } from '../input';

/** Rate limits of the HTTP API. Each process counts separately. */
export interface RateLimitOptions {
  /** Requests per second with one API key; 0 for no limit. @default 1000 */
  readonly perKey?: number;
  /** Requests, and attempts to sign in, per second from one address without a valid key; 0 for no limit. @default 20 */
  readonly failuresPerAddress?: number;
  /** Notifications per second from one address without a valid signature; 0 for no limit. @default 20 */
  readonly forgeriesPerAddress?: number;
}

/** Above ten times the load that one process carries, so it stops only runaway loops. */
const PER_KEY = 1_000;
/** High enough for a person who mistypes a key. */
const FAILURES_PER_ADDRESS = 20;
/** High enough for a provider whose key was changed. */
const FORGERIES_PER_ADDRESS = 20;
const MAX = 1_000_000;

/** Lists all problems of the options. */
export function findRateLimitProblems(options: RateLimitOptions): string[] {
  const { perKey, failuresPerAddress, forgeriesPerAddress } = options;
  const limits = Object.entries({ perKey, failuresPerAddress, forgeriesPerAddress });
  const wrong = limits.filter(([, limit]) => limit !== undefined && !isLimit(limit));
  return wrong.map(([name]) => `rateLimits.${name} must be an integer from 0 (off) to ${MAX}`);
}

/**
 * Refuses requests above the limits. Except at signing in, only failures count against an address: behind a proxy, the shop and its payment
 * providers may share the address of an attacker, so a valid key or signature is never refused for others' failures.
 */
export class RateLimits {
  private readonly keys: RateLimiterMemory | undefined;
  private readonly failures: RateLimiterMemory | undefined;
  private readonly forgeries: RateLimiterMemory | undefined;

  constructor({
    perKey = PER_KEY,
    failuresPerAddress = FAILURES_PER_ADDRESS,
    forgeriesPerAddress = FORGERIES_PER_ADDRESS,
  }: RateLimitOptions) {
    this.keys = limiter(perKey);
    this.failures = limiter(failuresPerAddress);
    this.forgeries = limiter(forgeriesPerAddress);
  }

  /** Counts a request with a known key. @throws HttpProblem RATE_LIMITED */
  async useKey(name: string): Promise<void> {
    await take(this.keys, name, `more than ${this.keys?.points ?? 0} requests in a second with the key "${name}"`);
  }

  /** Counts a request without a known key. @throws HttpProblem RATE_LIMITED instead of an answer about the key. */
  async fail(request: ApiRequest): Promise<void> {
    await take(this.failures, remoteNetworkOf(request), 'too many requests without a valid key');
  }

  /**
   * Counts an attempt to sign in before its key is tried, so that guesses above the limit learn nothing. One that succeeds
   * does not count.
   *
   * @throws HttpProblem RATE_LIMITED, for the right key too.
   */
  async signIn<T>(request: ApiRequest, tryKey: () => T | undefined): Promise<T | undefined> {
    const key = `sign-in ${remoteNetworkOf(request)}`;
    await take(this.failures, key, 'too many attempts to sign in without a valid key');
    const found = tryKey();
    if (found !== undefined) await this.failures?.reward(key);
    return found;
  }

  /**
   * Counts a notification with a wrong signature.
   *
   * @throws HttpProblem RATE_LIMITED instead of the provider's answer.
   */
  async forge(request: ApiRequest): Promise<void> {
    await take(this.forgeries, remoteNetworkOf(request), 'too many notifications without a valid signature');
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
