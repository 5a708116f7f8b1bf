import { ApiProblem, problemOf, toProblem } from './api-problem';
import { type ServerClock } from './server-clock';

/** Values of a query; undefined ones are left out, lists repeat their name. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Dependencies {
  readonly fetch: typeof fetch;
  readonly clock: ServerClock;
  /** Called when a request finds that the session has ended. */
  readonly onSignedOut: () => void;
}

type Method = 'GET' | 'POST' | 'DELETE';

const LIMIT_MS = 30_000;

/** Calls the operator API, whose address is relative to the page, so any base path works. */
export class ApiClient {
  /** Proves that a request comes from this page. Known once there is a session. */
  csrf: string | undefined;

  constructor(private readonly deps: Dependencies) {}

  /** @throws ApiProblem */
  get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return this.send<T>('GET', `${path}${formatQuery(query)}`, undefined, signal);
  }

  /** @throws ApiProblem */
  post<T>(path: string, body: object = {}, signal?: AbortSignal): Promise<T> {
    return this.send<T>('POST', path, body, signal);
  }

  /** @throws ApiProblem */
  delete(path: string): Promise<void> {
    return this.send<void>('DELETE', path);
  }

  private async send<T>(method: Method, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    const response = await this.request(method, path, body, signal);
    if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
    const problem = await problemOf(response);
    if (problem.isSignedOut && path !== 'session') this.deps.onSignedOut();
    throw problem;
  }

  private async request(method: Method, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const limit = AbortSignal.timeout(LIMIT_MS);
    try {
      const response = await this.deps.fetch(`api/${path}`, {
        method,
        credentials: 'same-origin',
        headers: this.headers(method, body),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      this.deps.clock.note(response.headers.get('date'));
      return response;
    } catch (error) {
      if (signal?.aborted) throw new ApiProblem(0, 'ABORTED', 'aborted');
      throw toProblem(error);
    }
  }

  private headers(method: Method, body?: object): Record<string, string> {
    return {
      accept: 'application/json',
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(method !== 'GET' && this.csrf !== undefined ? { 'x-csrf-token': this.csrf } : {}),
    };
  }
}

/** For example `?status=PENDING&status=CLOSING`, or nothing. */
export function formatQuery(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) pairs.append(name, String(one));
  }
  return pairs.size === 0 ? '' : `?${pairs.toString()}`;
}
