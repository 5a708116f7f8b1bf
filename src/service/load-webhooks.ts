import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidOptionsError } from '../errors';
import { resolveWebhookOptions, type WebhookEndpoint, type WebhookOptions } from '../webhooks';
import { type ServiceConfig, parseConfigJson } from './config';

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

/** A value with this prefix is read from a file. Its path is relative to the JSON file. */
const FROM_FILE = 'file:';

/**
 * Reads a JSON file that a variable names.
 *
 * @throws InvalidOptionsError without what the file holds, which may be a key.
 */
export function readConfigFile(variable: string, path: string): unknown {
  try {
    return parseConfigJson(readFileSync(path, 'utf8'));
  } catch (error) {
    // The parser quotes the text that it cannot read.
    const why =
      error instanceof SyntaxError ? 'it is not valid JSON' : error instanceof Error ? error.message : String(error);
    throw new InvalidOptionsError(variable, [`${path}: ${why}`]);
  }
}

/** The value with each text such as `file:keys/own.pem` replaced by what that file holds. @param path of the JSON file */
export function withFiles(value: unknown, path: string): unknown {
  if (typeof value === 'string' && value.startsWith(FROM_FILE)) {
    return readFileSync(resolve(dirname(path), value.slice(FROM_FILE.length)), 'utf8').trim();
  }
  if (Array.isArray(value)) return value.map((part) => withFiles(part, path));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withFiles(part, path)]));
}
