export { resolveWebhookOptions, type ResolvedWebhookOptions } from './resolve-webhook-options';
export { type WebhookEndpoint, type WebhookOptions } from './webhook-options';
export { Webhooks } from './webhooks';
