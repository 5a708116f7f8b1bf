/** The service has understood the shop, and said no. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';

  /** @param code the service's own, stable. */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
