import { type DataSource } from 'typeorm';
import { isDatabaseMissing, isLoginRefused, isOutOfConnections } from '../../database';
import { ManagementApi, type RabbitClient } from '../../rabbit';
import { countTimeouts, type PathFacts, readPathFacts } from '../../timeouts';
import { type BrokerDependencies, BrokerExamination } from './broker-examination';
import { ManagementExamination } from './management-examination';
import { DOCTOR_LIMITS, type DoctorLimits, type DoctorReport, Notes } from './notes';
import { type MigrationFact, SchemaExamination } from './schema-examination';
import { ServerExamination } from './server-examination';

/** What to examine. Nothing of it must run. */
export interface Patient {
  /** @throws if the database cannot be reached */
  connect(): Promise<DataSource>;
  readonly schema: string;
  readonly poolSize: number;
  /** Not started. Undefined: the service runs without a broker. */
  readonly client: RabbitClient | undefined;
  /** Kinds that every instance of the service handles. Kinds with pending timeouts are added. */
  readonly kinds: readonly string[];
  readonly transport: BrokerDependencies['transport'];
  readonly ladder: BrokerDependencies['ladder'];
  readonly horizonMs: number;
  /** Of the management plugin; undefined: the host of the broker, on the plugin's usual port. */
  readonly managementUrl?: string | undefined;
  readonly limits?: Partial<DoctorLimits>;
  /** The host's time, epoch milliseconds. */
  now(this: void): number;
  /** The migrations of this release and of the schema. */
  migrations(dataSource: DataSource): Promise<readonly MigrationFact[]>;
  /** Throws if this release cannot work with the schema. */
  assertMigrated(dataSource: DataSource): Promise<void>;
}

interface FromDatabase extends Partial<PathFacts> {
  readonly kinds: readonly string[];
}

/** Examines the database and the broker of the service. Never rejects because one of them is broken: that is a finding. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const notes = new Notes();
  const limits = { ...DOCTOR_LIMITS, ...patient.limits };
  const { databaseId, kinds } = await examineDatabase(patient, limits, notes);
  const { client, transport, ladder, horizonMs } = patient;
  if (!client) {
    notes.skip('the broker', 'none is configured');
    return notes.report;
  }
  const broker = { client, transport, ladder, horizonMs, databaseId, kinds, probeMs: limits.probeMs };
  if (await new BrokerExamination(broker, notes).run()) await examineManagement(client, patient.managementUrl, notes);
  else notes.skip('policies, alarms, and listeners', 'no connection to the broker');
  return notes.report;
}

async function examineDatabase(patient: Patient, limits: DoctorLimits, notes: Notes): Promise<FromDatabase> {
  const dataSource = await patient.connect().catch((error: unknown) => {
    unreachable(error, notes);
    notes.skip('tables, timeouts, and outbox', 'no connection to the database');
    return undefined;
  });
  if (!dataSource) return { kinds: patient.kinds };
  try {
    return await examineTables(patient, dataSource, limits, notes);
  } finally {
    await dataSource.destroy();
  }
}

async function examineTables(
  patient: Patient,
  dataSource: DataSource,
  limits: DoctorLimits,
  notes: Notes,
): Promise<FromDatabase> {
  const { schema, poolSize, horizonMs, kinds } = patient;
  await new ServerExamination({ dataSource, schema, poolSize, limits, now: patient.now }, notes).run();
  const tables = {
    ...{ dataSource, schema, horizonMs, limits },
    assertMigrated: () => patient.assertMigrated(dataSource),
    migrations: () => patient.migrations(dataSource),
  };
  if (!(await new SchemaExamination(tables, notes).run())) return { kinds };
  const counts = await countTimeouts(dataSource, schema);
  const all = new Set([...kinds, ...counts.map(({ kind }) => kind)]);
  return { ...(await readPathFacts(dataSource, schema)), kinds: [...all] };
}

async function examineManagement(client: RabbitClient, managementUrl: string | undefined, notes: Notes): Promise<void> {
  const [url = ''] = client.options.urls;
  await new ManagementExamination(new ManagementApi(url, managementUrl), client.names, notes).run();
}

function unreachable(error: unknown, notes: Notes): void {
  const why = error instanceof Error ? error.message || error.name : String(error);
  const where = 'docs/runbook.md, "The database is unavailable"';
  if (isLoginRefused(error)) {
    const what = isDatabaseMissing(error) ? 'name of the database' : 'user or password';
    const remedy = `Correct the ${what} in DATABASE_URL, for the service too. Its open sessions go on until they end (${where}).`;
    return notes.error('database-login-refused', `The database server refuses the login: ${why}.`, remedy);
  }
  if (isOutOfConnections(error)) {
    const remedy = `End other sessions, lower DATABASE_POOL_SIZE, or raise max_connections, or the CONNECTION LIMIT of the user or of the database (${where}).`;
    return notes.error('database-connections', `The database server has no connection left for us: ${why}.`, remedy);
  }
  const remedy = `Start it, or correct DATABASE_URL (${where}).`;
  notes.error('database-unreachable', `The database cannot be used: ${why}.`, remedy);
}
