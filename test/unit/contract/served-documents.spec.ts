import { readDocument, withoutHealth } from '../../../src/api/http/documents.controller';
import { contractDocuments } from '../../../packages/contract/src/contract-files';

const { openApi, asyncApi } = contractDocuments();

describe('the documents at run time', () => {
  it('are those that npm run contract makes, with the default prefix', () => {
    expect([readDocument('openapi'), readDocument('asyncapi')]).toEqual([openApi, asyncApi]);
  });

  it('name exchanges and queues by the configured prefix, and change nothing else', () => {
    const text = JSON.stringify(readDocument('asyncapi', 'shop.v2'));
    expect(text).not.toContain('order-timeout.v1');
    expect(text.match(/"shop\.v2\.(commands|events|parked)"/g)).toHaveLength(22);
    expect(JSON.parse(text.replaceAll('shop.v2', 'order-timeout.v1'))).toEqual(asyncApi);
  });

  it('leave out the health routes of a host that has none', () => {
    const whole = readDocument('openapi') as Parameters<typeof withoutHealth>[0];
    const { paths, tags } = withoutHealth(whole) as typeof whole;
    const left = Object.keys(whole.paths).filter((path) => !(path in paths));
    expect(left).toEqual(['/health/live', '/health/ready', '/metrics']);
    expect(whole.tags.filter(({ name }) => !tags.some((tag) => tag.name === name))).toMatchObject([{ name: 'Health' }]);
  });
});
