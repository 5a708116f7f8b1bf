import { type EntityManager, EntitySchema, IsolationLevel, MikroORM } from '@mikro-orm/postgresql';
import { fromMikroOrm } from '../../../../src/public/transactions';
import { type HostLibrary, type HostTransaction } from '../../../support/host-library';

const HostNote = new EntitySchema<{ text: string }>({
  name: 'HostNote',
  tableName: 'host_note',
  properties: { text: { type: 'text', primary: true } },
});

const hostOf = (em: EntityManager): HostTransaction => ({
  tx: fromMikroOrm(em),
  note: (text) => em.insert(HostNote, { text }),
  nest: (work) => em.transactional((nested) => work(hostOf(nested))),
});

export async function openMikroOrm(url: string): Promise<HostLibrary> {
  const orm = await MikroORM.init({ clientUrl: url, entities: [HostNote], pool: { min: 0, max: 3 } });
  return {
    run: (work, level) =>
      orm.em.fork().transactional((em) => work(hostOf(em)), {
        isolationLevel: level ? IsolationLevel.REPEATABLE_READ : IsolationLevel.READ_COMMITTED,
      }),
    outside: () => fromMikroOrm(orm.em.fork()),
    close: () => orm.close(),
  };
}
