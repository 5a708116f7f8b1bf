import { describeHostLibrary } from './describe-host-library';
import { type HostLibrary } from './host-library';
import { type HostShop, openHostShop } from './host-shop';

/** What must hold for libraries whose transactions are passed as `tx`. @param openers connect a library to a URL, by its name */
export function describeHostLibraries(
  openers: Readonly<Record<string, (url: string) => Promise<HostLibrary> | HostLibrary>>,
): void {
  describe('in the transaction of a host', () => {
    let shop: HostShop;

    beforeAll(async () => {
      shop = await openHostShop();
    });
    afterAll(() => shop.close());

    for (const [name, open] of Object.entries(openers)) describeHostLibrary(name, open, () => shop);
  });
}
