/** Scheme and login, hosts, and all the rest of a URL of PostgreSQL. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
/** libpq's names of sessions that must take writes. Only `primary` accepts a primary with default_transaction_read_only. */
const WRITING = ['read-write', 'primary'];

/** The servers that a URL names. */
export interface ServerUrls {
  /** One URL for each, with the login and the options of all. */
  readonly urls: readonly string[];
  /** Sessions must take writes: there are several servers, or the URL says so. */
  readonly mustWrite: boolean;
}

/**
 * Pure: splits URLs that libpq understands and `new URL` does not, such as `postgresql://login@host1:5432,host2/db`.
 *
 * @returns undefined when it is no URL of PostgreSQL
 */
export function parseServerUrls(url: string): ServerUrls | undefined {
  const [, before = '', hosts = '', after = ''] = URL_PARTS.exec(url) ?? [];
  const urls = hosts.split(',').map((host) => `${before}${host}${after}`);
  if (before === '' || !urls.every((each) => URL.canParse(each))) return undefined;
  const wanted = wantedSession(urls);
  return { urls, mustWrite: urls.length > 1 || (wanted !== null && WRITING.includes(wanted)) };
}

/** Pure: what is wrong with the option `target_session_attrs` of these servers, if anything. */
export function findSessionProblem({ urls }: ServerUrls): string | undefined {
  const wanted = wantedSession(urls);
  const isKnown = wanted === null || WRITING.includes(wanted) || (wanted === 'any' && urls.length === 1);
  return isKnown ? undefined : `target_session_attrs must be ${WRITING.join(' or ')}: a standby takes no orders`;
}

const wantedSession = ([url = '']: readonly string[]): string | null =>
  new URL(url).searchParams.get('target_session_attrs');
