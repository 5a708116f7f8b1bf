import { type Messages } from './en';
import { actions } from './zh/actions';
import { attention } from './zh/attention';
import { domain } from './zh/domain';
import { now } from './zh/now';
import { order } from './zh/order';
import { orders } from './zh/orders';
import { problems } from './zh/problems';
import { shell } from './zh/shell';

/** Simplified Chinese. */
export const zh: Messages = { shell, now, domain, orders, order, attention, actions, problems };
