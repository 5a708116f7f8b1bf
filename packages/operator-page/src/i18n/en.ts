import { actions } from './en/actions';
import { attention } from './en/attention';
import { domain } from './en/domain';
import { now } from './en/now';
import { order } from './en/order';
import { orders } from './en/orders';
import { problems } from './en/problems';
import { shell } from './en/shell';

/** English. It decides which messages there are: a catalog without one of them, or with one more, does not compile. */
export const en = { shell, now, domain, orders, order, attention, actions, problems };

export type Messages = typeof en;
