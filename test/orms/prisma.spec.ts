import { PrismaPg } from '@prisma/adapter-pg';
import { fromPrisma } from '../../src';
import { describeHostLibrary } from '../support/describe-host-library';
import { type HostLibrary } from '../support/host-library';
import { PrismaClient } from './generated/client';

function openPrisma(url: string): HostLibrary {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  return {
    run: (work, level) =>
      prisma.$transaction(
        (tx) => work({ tx: fromPrisma(tx), note: (text) => tx.hostNote.create({ data: { text } }) }),
        { isolationLevel: level ? 'RepeatableRead' : 'ReadCommitted', timeout: 20_000 },
      ),
    outside: () => fromPrisma(prisma),
    close: () => prisma.$disconnect(),
  };
}

describeHostLibrary('Prisma', openPrisma);
