import { ANSWERS, REFUSAL } from '../../packages/contract/src/messages';
import { EVENTS, type Message } from '../../packages/contract/src/events';
import { contractDocuments } from '../../packages/contract/src/contract-files';
import { Validator } from './validator';

interface Content {
  readonly content?: Readonly<Record<string, unknown>>;
}

interface DescribedOperation {
  readonly security: readonly object[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Content>> };
}

/** One request with its answer. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  /** The body of the request. Text is what the test wrote itself. */
  readonly sent?: unknown;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

interface Route {
  readonly pattern: RegExp;
  readonly method: string;
  readonly at: string;
  readonly operation: DescribedOperation;
}

/** Compares what the service says with its documents. */
export class Conformance {
  private readonly openApi: OpenApi;
  private readonly routes: readonly Route[];
  private readonly http: Validator;
  private readonly amqp: Validator;

  constructor() {
    const { openApi, asyncApi } = contractDocuments();
    this.openApi = openApi as unknown as OpenApi;
    this.routes = routesOf(this.openApi);
    this.http = new Validator(openApi, 'draft-2020-12');
    this.amqp = new Validator(asyncApi, 'draft-07');
  }

  /** What the OpenAPI document does not say of this exchange. */
  problemsOf(exchange: Exchange): string[] {
    const path = exchange.path.replace(/\?.*$/s, '');
    const route = this.routes.find(({ method, pattern }) => method === exchange.method && pattern.test(path));
    // An unknown path, or a path that cannot be decoded.
    if (!route) return [404, 405, 400].includes(exchange.status) ? [] : [`${exchange.method} ${path} is not described`];
    const problems = [...this.problemsOfAnswer(route, exchange), ...this.problemsOfRequest(route, exchange)];
    return problems.map((problem) => `${exchange.method} ${path} ${exchange.status}: ${problem}`);
  }

  /** What the AsyncAPI document does not say of this event. */
  problemsOfEvent(routingKey: string, body: unknown): string[] {
    return this.problemsOfMessage(`event ${routingKey}`, entry(EVENTS, routingKey), body);
  }

  /** What the AsyncAPI document does not say of this reply. @param command routing key of the command or request */
  problemsOfReply(command: string, body: unknown): string[] {
    const isRefused = typeof body === 'object' && body !== null && 'error' in body;
    return this.problemsOfMessage(`reply to ${command}`, isRefused ? REFUSAL : entry(ANSWERS, command), body);
  }

  private problemsOfMessage(what: string, message: Message | undefined, body: unknown): string[] {
    if (!message) return [`the ${what} is not described`];
    const problems = this.amqp.problems(`#/components/messages/${message.name}/payload`, body);
    return problems.map((problem) => `${what}: ${problem}`);
  }

  private problemsOfAnswer({ at, operation }: Route, { status, contentType = '', body }: Exchange): string[] {
    // Routes without a key list only what probes, browsers, and providers can meet.
    const isOther = status >= 400 && operation.security.length === 0 && !(status in operation.responses);
    const described = operation.responses[isOther ? 'default' : status];
    if (!described) return ['the status is not described'];
    const name = described.$ref?.split('/').at(-1);
    const place = name === undefined ? `${at}/responses/${status}` : `#/components/responses/${name}`;
    const { content = {} } = name === undefined ? described : (this.openApi.components.responses[name] ?? {});
    const [type = ''] = contentType.split(';');
    if (type === '' && Object.keys(content).length === 0) return [];
    if (type in content && type.endsWith('json')) {
      return this.http.problems(`${place}/content/${escaped(type)}/schema`, body);
    }
    return type in content || '*/*' in content ? [] : [`the content type "${type}" is not described`];
  }

  /** What the service accepts, the document must allow. */
  private problemsOfRequest({ at, operation }: Route, { status, sent }: Exchange): string[] {
    if (status >= 400 || typeof sent !== 'object' || sent === null) return [];
    const { content = {} } = operation.requestBody ?? {};
    if ('*/*' in content) return [];
    if (!('application/json' in content)) return ['a body is not described'];
    return this.http.problems(`${at}/requestBody/content/${escaped('application/json')}/schema`, sent);
  }
}

function entry(messages: Readonly<Record<string, Message>>, key: string): Message | undefined {
  return Object.hasOwn(messages, key) ? messages[key] : undefined;
}

function routesOf({ paths }: OpenApi): Route[] {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method,
      operation,
      at: `#/paths/${escaped(path)}/${method}`,
      pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}/?$`, 'i'),
      parameters: path.split('{').length,
    })),
  );
  // `/orders/bulk` before `/orders/{id}`.
  return routes.sort((a, b) => a.parameters - b.parameters);
}

/** As a part of a JSON pointer in a URI. */
function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}
