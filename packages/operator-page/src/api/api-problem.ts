/** The service refused a request, or could not be reached. */
export class ApiProblem extends Error {
  /** @param status HTTP status; 0: no answer came. @param code stable code of the problem, or `NO_ANSWER` */
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly retryAfterSeconds: number | undefined = undefined,
  ) {
    super(detail);
    this.name = 'ApiProblem';
  }

  /** The session has ended, or never began. */
  get isSignedOut(): boolean {
    return this.status === 401;
  }
}

interface ProblemBody {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly title?: unknown;
}

/** Reads the problem (RFC 9457) of a response that is not a success. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const body = await jsonOf(response);
  const code = typeof body.code === 'string' ? body.code : `HTTP_${response.status}`;
  const detail = [body.detail, body.title].find((text): text is string => typeof text === 'string');
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds : undefined;
  return new ApiProblem(response.status, code, detail ?? response.statusText, retryAfter);
}

/** What a proxy answers may be anything. */
async function jsonOf(response: Response): Promise<ProblemBody> {
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

/** Whatever was thrown, as a problem to show. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(0, 'NO_ANSWER', error instanceof Error ? error.message : String(error));
}
