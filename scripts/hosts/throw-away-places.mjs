import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** @typedef {{ databaseUrl: string, rabbitUrl: string, managementUrl: string }} Servers */
/** @typedef {{ DATABASE_URL: string, RABBITMQ_URLS: string }} Places */

/**
 * A database and a virtual host for one run of a host, which are dropped afterwards.
 *
 * @param {Servers} servers
 * @param {(places: Places) => Promise<string>} work
 * @returns {Promise<string>} what the work returned
 */
export async function inThrowAwayPlaces({ databaseUrl, rabbitUrl, managementUrl }, work) {
  const name = `ot_host_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const manage = managementOf(managementUrl, rabbitUrl);
  await query(databaseUrl, `CREATE DATABASE ${name}`);
  await manage('PUT', `/vhosts/${name}`);
  try {
    const user = decodeURIComponent(new URL(rabbitUrl).username) || 'guest';
    await manage('PUT', `/permissions/${name}/${encodeURIComponent(user)}`);
    return await work({ DATABASE_URL: below(databaseUrl, name), RABBITMQ_URLS: below(rabbitUrl, name) });
  } finally {
    await manage('DELETE', `/vhosts/${name}`);
    await query(databaseUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/** @param {string} server @param {string} name */
function below(server, name) {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** @param {string} connectionString @param {string} sql */
async function query(connectionString, sql) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** @param {string} managementUrl @param {string} rabbitUrl */
function managementOf(managementUrl, rabbitUrl) {
  const { origin } = new URL(managementUrl);
  const { username, password } = new URL(managementUrl).username ? new URL(managementUrl) : new URL(rabbitUrl);
  const login = `${decodeURIComponent(username) || 'guest'}:${decodeURIComponent(password) || 'guest'}`;
  const headers = {
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ configure: '.*', write: '.*', read: '.*' });
  return async (/** @type {string} */ method, /** @type {string} */ path) => {
    const response = await fetch(`${origin}/api${path}`, { method, headers, ...(method === 'PUT' && { body }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
}
