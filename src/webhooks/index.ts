export {
  resolveWebhookOptions,
  type ResolvedWebhookOptions,
  type WebhookEndpoint,
  type WebhookOptions,
  webhookOptions,
  webhookSecret,
} from './webhook-options';
export { Webhooks } from './webhooks';
