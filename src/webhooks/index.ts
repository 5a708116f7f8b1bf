export {
  resolveWebhookOptions,
  type ResolvedWebhookOptions,
  type WebhookEndpoint,
  type WebhookOptions,
  webhookOptions,
} from './webhook-options';
export { Webhooks } from './webhooks';
