import { until } from '../../support/engine';
import { type TestVhost } from '../../support/rabbit-vhost';

interface ListedConnection {
  readonly name: string;
  readonly user_provided_name?: string;
  readonly client_properties?: { readonly connection_name?: string };
}

/**
 * Makes the broker close the connections whose own name ends with this, for example `:publish`. Waits until one is
 * listed.
 */
export async function killConnections(vhost: TestVhost, nameEnd: string): Promise<number> {
  let found: ListedConnection[] = [];
  await until(async () => {
    const listed = await vhost.manage<ListedConnection[]>('GET', `/vhosts/${vhost.name}/connections`);
    found = listed.filter(({ user_provided_name: own, client_properties: properties }) =>
      (own ?? properties?.connection_name ?? '').endsWith(nameEnd),
    );
    return found.length > 0;
  });
  for (const { name } of found) {
    // A connection that is gone already is as good as killed.
    await vhost.manage('DELETE', `/connections/${encodeURIComponent(name)}`).catch(() => undefined);
  }
  return found.length;
}
