import { PrismaPg } from '@prisma/adapter-pg';
import { fromPrisma } from '../../../src/public/transactions';
import { describeHostLibraries } from '../../support/describe-host-libraries';
import { type HostLibrary, type HostTransaction, inSavepoint } from '../../support/host-library';
import { type Prisma, PrismaClient } from './generated/client';

const hostOf = (tx: Prisma.TransactionClient): HostTransaction => ({
  tx: fromPrisma(tx),
  note: (text) => tx.hostNote.create({ data: { text } }),
  nest: (work) =>
    inSavepoint(
      (sql) => tx.$executeRawUnsafe(sql),
      () => work(hostOf(tx)),
    ),
});

function openPrisma(url: string): HostLibrary {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  return {
    run: (work, level) =>
      prisma.$transaction((tx) => work(hostOf(tx)), {
        isolationLevel: level ? 'RepeatableRead' : 'ReadCommitted',
        timeout: 20_000,
      }),
    outside: () => fromPrisma(prisma),
    close: () => prisma.$disconnect(),
  };
}

describeHostLibraries({ Prisma: openPrisma });
