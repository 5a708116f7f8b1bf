import { migrate } from '../../src/module';
import { connectTo, onServer, TEMPLATE_ENV, urlOf } from './database';

/** Migrates one database that the test files copy, instead of migrating once per file. */
export default async function globalSetup(): Promise<void> {
  const name = `ot_template_${process.pid}`;
  await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await onServer(`CREATE DATABASE ${name}`);
  const dataSource = await connectTo(urlOf(name), 2);
  await migrate(dataSource);
  await dataSource.destroy();
  process.env[TEMPLATE_ENV] = name;
}
