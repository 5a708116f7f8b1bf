import { type DataSource } from 'typeorm';

interface PoolOptions {
  readonly Client?: unknown;
  readonly query_timeout?: unknown;
  readonly keepAlive?: unknown;
  readonly connectionTimeoutMillis?: unknown;
}

const REMEDY = 'see "Your pool" in docs/database.md';

/** What a pool lacks to survive a server that stops or falls silent, as one sentence for the log. Undefined: nothing. */
export function poolGaps({ options }: Pick<DataSource, 'options'>): string | undefined {
  const extra = (options.extra ?? {}) as PoolOptions;
  const hasOwnClient = extra.Client !== undefined;
  const connectTimeoutMs = 'connectTimeoutMS' in options ? options.connectTimeoutMS : undefined;
  const gaps = [
    hasOwnClient ? '' : 'Client (an error between two users of a connection ends the process)',
    extra.query_timeout ? '' : 'query_timeout (your statements wait for a silent server forever)',
    hasOwnClient || extra.keepAlive ? '' : 'keepAlive',
    hasOwnClient || extra.connectionTimeoutMillis || connectTimeoutMs ? '' : 'connectTimeoutMS',
  ].filter((gap) => gap !== '');
  return gaps.length === 0 ? undefined : `the pool of the DataSource has no ${gaps.join(', no ')}: ${REMEDY}`;
}
