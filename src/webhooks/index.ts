export {
  resolveWebhookOptions,
  type ResolvedWebhookOptions,
  type WebhookEndpoint,
  type WebhookOptions,
} from './webhook-options';
export { Webhooks } from './webhooks';
