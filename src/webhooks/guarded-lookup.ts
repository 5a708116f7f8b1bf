import { lookup } from 'node:dns';
import { type LookupFunction } from 'node:net';
import { mayReach } from './address-rule';
import { WebhookAddressRefusedError } from './webhook-address-refused-error';

/**
 * A DNS look-up that fails if one of the addresses may not be reached. The connection uses these very addresses, so a
 * name that changes between check and use gains nothing.
 */
export function guardedLookup(allowPrivate: boolean): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const refused = addresses.find(({ address }) => !mayReach(address, allowPrivate));
      if (refused) return callback(new WebhookAddressRefusedError(host, refused.address), '', 0);
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}
