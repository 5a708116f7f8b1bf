import { describeHostLibraries } from '../../support/describe-host-libraries';
import { openDrizzleOnPg, openDrizzleOnPostgres } from './libraries/open-drizzle';
import { openKnex } from './libraries/open-knex';
import { openKysely } from './libraries/open-kysely';
import { openMikroOrm } from './libraries/open-mikro-orm';
import { openPg } from './libraries/open-pg';
import { openTypeOrm } from './libraries/open-typeorm';

// Prisma is in test/hosts/prisma, because it is large.
describeHostLibraries({
  pg: openPg,
  'Drizzle on pg': openDrizzleOnPg,
  'Drizzle on postgres.js': openDrizzleOnPostgres,
  Kysely: openKysely,
  Knex: openKnex,
  MikroORM: openMikroOrm,
  TypeORM: openTypeOrm,
});
