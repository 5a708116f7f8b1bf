import { poolGaps } from '../../../src/timeouts/startup/assert-database';
import { dataSourceOptions } from '../../../src/service/create-service';

const gapsOf = (options: object): string | undefined => poolGaps({ options: { type: 'postgres', ...options } });

describe('what the log says of a pool at the start', () => {
  it('names each thing that a plain DataSource lacks', () => {
    expect(gapsOf({})).toMatch(/no Client .*no query_timeout .*no keepAlive, no connectTimeoutMS: see "Your pool"/);
  });

  it('does not name what is there', () => {
    expect(gapsOf({ connectTimeoutMS: 5_000, extra: { Client: class {}, keepAlive: true } })).toMatch(
      /^the pool of the DataSource has no query_timeout \([^)]*\): see/,
    );
  });

  it('says nothing of the pool of the service', () => {
    expect(
      gapsOf(dataSourceOptions({ url: 'postgres://h/d', poolSize: 2, schema: 's', prepares: false })),
    ).toBeUndefined();
    expect(
      gapsOf(dataSourceOptions({ url: 'postgres://h/d', poolSize: 2, schema: 's', prepares: true })),
    ).toBeUndefined();
  });
});
