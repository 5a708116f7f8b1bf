import { EntitySchema, IsolationLevel, MikroORM } from '@mikro-orm/postgresql';
import { fromMikroOrm } from '../../src';
import { describeHostLibrary } from '../support/describe-host-library';
import { type HostLibrary } from '../support/host-library';

const HostNote = new EntitySchema<{ text: string }>({
  name: 'HostNote',
  tableName: 'host_note',
  properties: { text: { type: 'text', primary: true } },
});

async function openMikroOrm(url: string): Promise<HostLibrary> {
  const orm = await MikroORM.init({ clientUrl: url, entities: [HostNote], pool: { min: 0, max: 3 } });
  return {
    run: (work, level) =>
      orm.em
        .fork()
        .transactional((em) => work({ tx: fromMikroOrm(em), note: (text) => em.insert(HostNote, { text }) }), {
          isolationLevel: level ? IsolationLevel.REPEATABLE_READ : IsolationLevel.READ_COMMITTED,
        }),
    outside: () => fromMikroOrm(orm.em.fork()),
    close: () => orm.close(),
  };
}

describeHostLibrary('MikroORM', openMikroOrm);
