import { RequestRejectedError } from '../input';
import { HttpProblem } from './problem-catalogue';

/**
 * The merchants whose orders and stock a caller may see and change: all, or some. Requests for objects of other
 * merchants must be answered as if the objects did not exist.
 */
export class MerchantScope {
  /** The scope of keys without merchants, and of hosts that protect the routes themselves. */
  static readonly EVERYBODY = new MerchantScope('', undefined);

  private constructor(
    private readonly keyName: string,
    private readonly ids: ReadonlySet<string> | undefined,
  ) {}

  /** @param merchants empty: all merchants. */
  static ofKey(keyName: string, merchants: readonly string[]): MerchantScope {
    return merchants.length === 0 ? MerchantScope.EVERYBODY : new MerchantScope(keyName, new Set(merchants));
  }

  /** Undefined: all merchants. */
  get merchants(): readonly string[] | undefined {
    return this.ids && [...this.ids];
  }

  get isRestricted(): boolean {
    return this.ids !== undefined;
  }

  allows(merchantId: string): boolean {
    return this.ids === undefined || this.ids.has(merchantId);
  }

  /**
   * The merchant of a new object: the one that the request names, or else the key's only one. Undefined: the key is not
   * restricted, and the request names none.
   *
   * @param named merchant that the request names.
   * @param path where the request names it, for the error.
   * @throws HttpProblem FORBIDDEN for another merchant.
   * @throws RequestRejectedError VALIDATION_FAILED when the key has several merchants and the request names none.
   */
  merchantFor(named: string | undefined, path = 'merchantId'): string | undefined {
    if (named !== undefined && !this.allows(named))
      throw this.forbidden(`${path} "${named}" is not a merchant of this API key`);
    if (named !== undefined || this.ids === undefined) return named;
    const [only, second] = this.ids;
    if (second === undefined) return only;
    const message = `is missing; the API key has several merchants, so name one of them: ${[...this.ids].join(', ')}`;
    throw new RequestRejectedError('VALIDATION_FAILED', `${path} ${message}`, { errors: [{ path, message }] });
  }

  /**
   * The merchants among which a list may search. Undefined: all.
   *
   * @param named merchant that the request wants alone.
   * @throws HttpProblem FORBIDDEN for another merchant.
   */
  visible(named: string | undefined, path = 'merchantId'): readonly string[] | undefined {
    if (named === undefined || this.allows(named)) return this.merchants;
    throw this.forbidden(`${path} "${named}" is not a merchant of this API key`);
  }

  /** The error for an object of another merchant. */
  forbidden(what: string): HttpProblem {
    const merchants = [...(this.ids ?? [])].join(', ');
    return new HttpProblem('FORBIDDEN', `${what}; key "${this.keyName}" is limited to ${merchants}`);
  }
}
