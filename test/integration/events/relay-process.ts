import { Test } from '@nestjs/testing';
import { connectTo } from '../../support/database';
import { TimeoutsModule } from '../../../src/timeouts';

/** Run as a process: an engine without handlers that sends what the outbox holds. Ends when its input does. */
async function main(): Promise<void> {
  const { DATABASE = '', BROKER = '' } = process.env;
  const dataSource = await connectTo(DATABASE, 4);
  const rabbit = { urls: [BROKER], queueType: 'classic' as const };
  const imports = [TimeoutsModule.forRoot({ dataSource, rabbit, transport: 'none' })];
  const module = await Test.createTestingModule({ imports }).compile();
  module.enableShutdownHooks();
  await module.init();
  process.stdin.resume().on('end', () => {
    void module.close().then(() => dataSource.destroy());
  });
}

void main();
