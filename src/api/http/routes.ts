import { pathOf } from './path-of';

/** Every path of the service with its methods, to tell a wrong method from a wrong path. */
export const ROUTES: readonly { readonly path: RegExp; readonly methods: readonly string[] }[] = [
  { path: /^\/orders$/, methods: ['GET', 'HEAD', 'POST'] },
  { path: /^\/orders\/bulk$/, methods: ['GET', 'HEAD', 'POST'] },
  { path: /^\/orders\/bulk\/actions\/(extend|cancel|close)$/, methods: ['POST'] },
  { path: /^\/orders\/[^/]+$/, methods: ['GET', 'HEAD'] },
  {
    path: /^\/orders\/[^/]+\/(attempts|pay-check|paid|extend|cancel|auto-close|erase|refund|revive|close)$/,
    methods: ['POST'],
  },
  { path: /^\/orders\/[^/]+\/history$/, methods: ['GET', 'HEAD'] },
  { path: /^\/inventory\/[^/]+$/, methods: ['GET', 'HEAD', 'PUT'] },
  { path: /^\/payments\/[^/]+\/notify$/, methods: ['POST'] },
  { path: /^\/payments\/unmatched$/, methods: ['GET', 'HEAD'] },
  { path: /^\/payments\/unmatched\/[^/]+\/(settle|reopen|assign)$/, methods: ['POST'] },
  { path: /^\/timeouts\/parked$/, methods: ['GET', 'HEAD'] },
  { path: /^\/timeouts\/parked\/(replay|discard)$/, methods: ['POST'] },
  { path: /^\/timeouts\/republish$/, methods: ['POST'] },
  { path: /^\/(health\/live|health\/ready|metrics)$/, methods: ['GET', 'HEAD'] },
  { path: /^\/(openapi\.json|asyncapi\.json|docs|docs\/[^/]+)$/, methods: ['GET', 'HEAD'] },
];

/** The methods of a path. Undefined if the path does not exist. */
export function methodsOf(url: string): readonly string[] | undefined {
  const path = pathOf(url);
  return ROUTES.find((route) => route.path.test(path))?.methods;
}
