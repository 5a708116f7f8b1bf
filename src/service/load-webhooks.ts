import { InvalidOptionsError } from '../errors';
import { resolveWebhookOptions, type WebhookEndpoint, type WebhookOptions } from '../webhooks';
import { type ServiceConfig } from './config';
import { readConfigFile, withFiles } from './read-config-file';

const VARIABLE = 'WEBHOOKS_FILE';

type WebhookConfig = Pick<ServiceConfig, 'webhook' | 'webhooksFile'>;

/**
 * The webhooks of `WEBHOOKS_FILE`, a JSON object such as `{"endpoints": [{"name": "crm", ...}]}`, and the endpoint
 * `default` of `WEBHOOK_URL`. Secrets may be in separate files, as `"file:keys/crm.txt"`. Undefined if none are configured.
 *
 * @throws InvalidOptionsError with every problem, without secrets.
 */
export function loadWebhooks({ webhook, webhooksFile }: WebhookConfig): WebhookOptions | undefined {
  const own: WebhookEndpoint[] = webhook ? [{ name: 'default', ...webhook }] : [];
  if (webhooksFile === undefined) return webhook && { endpoints: own };
  const given = withSecrets(webhooksFile);
  // With the endpoint of the environment, whose name may be taken.
  return { ...given, endpoints: [...given.endpoints, ...own] };
}

function withSecrets(path: string): WebhookOptions {
  try {
    const options = withFiles(readConfigFile(VARIABLE, path), path) as WebhookOptions;
    resolveWebhookOptions(options);
    return options;
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new InvalidOptionsError(VARIABLE, error.problems);
    throw new InvalidOptionsError(VARIABLE, [error instanceof Error ? error.message : String(error)]);
  }
}
