import { orderTimeoutMigrations } from '../../src/module';
import { COMPATIBLE_SINCE, nameOf } from '../../src/database/migrations';

const names = orderTimeoutMigrations('order_timeout').map(nameOf);

describe('every migration', () => {
  it('says since which release it is compatible, or that it is not', () => {
    expect(Object.keys(COMPATIBLE_SINCE).toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(COMPATIBLE_SINCE))('%s names an earlier one or none', (name, since) => {
    const place = since === null ? -1 : names.indexOf(since);
    expect(place).toBeLessThan(names.indexOf(name));
    expect(since === null || names.includes(since)).toBe(true);
  });
});
