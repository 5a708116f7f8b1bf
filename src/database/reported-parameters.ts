import { type ClientBase } from 'pg';

/** PostgreSQL 14 and later report these to every session at its start, and when they change. */
const REPORTED = ['in_hot_standby', 'default_transaction_read_only'];

interface Parameter {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** Collects what a server says of itself while a session starts. Must be made before the client connects. */
export class ReportedParameters {
  private readonly values = new Map<string, string>();

  constructor(connection: NodeJS.EventEmitter) {
    connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
      if (REPORTED.includes(parameterName)) this.values.set(parameterName, parameterValue);
    });
  }

  /** Whether the server says that the session takes writes. Undefined if a pooler does not pass it on. */
  get saysWritable(): boolean | undefined {
    const values = REPORTED.map((name) => this.values.get(name));
    if (values.includes('on')) return false;
    return values.includes(undefined) ? undefined : true;
  }

  /** Whether the session takes writes. Costs a round trip only if a pooler does not report it. */
  async isWritable(client: ClientBase): Promise<boolean> {
    if (this.saysWritable !== undefined) return this.saysWritable;
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    return rows[0]?.transaction_read_only === 'off';
  }
}
