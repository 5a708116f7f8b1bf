import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type ApiRequest } from './api-request';
import { HttpProblem } from './http-problem';
import { remoteNetworkOf } from './remote-network-of';

/** How much the HTTP API takes, in each process by itself. */
export interface RateLimitOptions {
  /** Requests per second with one API key; 0: any number. @default 1000 */
  readonly perKey?: number;
  /** Requests per second from one address with a wrong key or none; 0: any number. @default 20 */
  readonly failuresPerAddress?: number;
  /** Notifications per second from one address whose signature is wrong; 0: any number. @default 20 */
  readonly forgeriesPerAddress?: number;
}

/** A shop at ten times the load that one process carries stays below it; a loop that went wrong does not. */
const PER_KEY = 1_000;
/** A person who mistypes a key stays below it. */
const FAILURES_PER_ADDRESS = 20;
/** A provider whose key was changed stays below it. */
const FORGERIES_PER_ADDRESS = 20;
const MAX = 1_000_000;

/** Everything that is wrong with the options. */
export function findRateLimitProblems(options: RateLimitOptions): string[] {
  const { perKey, failuresPerAddress, forgeriesPerAddress } = options;
  const limits = Object.entries({ perKey, failuresPerAddress, forgeriesPerAddress });
  const wrong = limits.filter(([, limit]) => limit !== undefined && !isLimit(limit));
  return wrong.map(([name]) => `rateLimits.${name} must be an integer from 0 (off) to ${MAX}`);
}

/**
 * Refuses what comes too fast. Only failures count against an address: behind a proxy the shop and its payment providers
 * may share the address of an attacker, so a right key or signature is never refused for the failures of others.
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

  /** A request with a key that is known. @throws HttpProblem RATE_LIMITED */
  async useKey(name: string): Promise<void> {
    await take(this.keys, name, `more than ${this.keys?.points ?? 0} requests in a second with the key "${name}"`);
  }

  /** A request without a key that is known. @throws HttpProblem RATE_LIMITED instead of an answer about the key. */
  async fail(request: ApiRequest): Promise<void> {
    await take(this.failures, remoteNetworkOf(request), 'too many requests without a valid key');
  }

  /** A notification whose signature is wrong. @throws HttpProblem RATE_LIMITED instead of the provider's answer. */
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
