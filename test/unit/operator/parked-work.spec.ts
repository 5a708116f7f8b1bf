import { Logger } from '@nestjs/common';
import { ParkedWork } from '../../../src/api/operator/parked-work';
import { MerchantScope } from '../../../src/api/http';

const because = { by: { cause: 'operator', actor: 'jane' }, reason: 'a test' } as const;
const FORGED = 'x\n[Nest] operator "joe": discard';

describe('the log of what operators do with parked work', () => {
  type Parts = ConstructorParameters<typeof ParkedWork>;
  const options = { schema: 'order_timeout' };
  const timeouts = { replay: async () => 0 };
  const notes = { execute: async () => undefined };
  const messages = { change: async () => 0 };
  const work = new ParkedWork(...([options, timeouts, notes, messages] as unknown as Parts));
  const lines: string[] = [];

  beforeAll(() => jest.spyOn(Logger.prototype, 'log').mockImplementation((line: string) => void lines.push(line)));
  afterAll(() => jest.restoreAllMocks());

  it('keeps to one line for each action, whatever names a request holds', async () => {
    await work.timeouts({ do: 'replay' }, [{ kind: FORGED, key: FORGED }], MerchantScope.EVERYBODY, because);
    await work.changeMessages('discard', [FORGED], because);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^operator "jane": .* because: a test; "x\\n\[Nest\].*$/);
    expect(lines.join('')).not.toContain('\n');
  });
});
