import { Webhook } from 'standardwebhooks';

/** Signs webhooks of one endpoint, with each of its secrets. */
export class WebhookSigner {
  private readonly keys: readonly Webhook[];

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map((secret) => new Webhook(secret));
  }

  /** The headers of one attempt. @param id the same at every attempt @param atMs epoch milliseconds */
  headers(id: string, atMs: number, body: string): Record<string, string> {
    const at = new Date(atMs);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(atMs / 1_000)),
      'webhook-signature': this.keys.map((key) => key.sign(id, at, body)).join(' '),
    };
  }
}
