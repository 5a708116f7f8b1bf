import { type Login } from '../../../support/servers/own-broker';

/** Of the instances, at the database and at the broker. The harness has another one, which no fault touches. */
export const SERVICE_LOGIN: Login = { username: 'campaign', password: 'campaign-password' };

/** The same URL with the login of the instances. */
export function asService(url: string): string {
  const changed = new URL(url);
  [changed.username, changed.password] = [SERVICE_LOGIN.username, SERVICE_LOGIN.password];
  return changed.href;
}
