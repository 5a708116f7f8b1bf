/**
 * @typedef {object} Series
 * @property {string} name   the first two numbers of RabbitMQ's version
 * @property {string} suite  the Debian suite whose packages are of this series
 */

/** @type {[Series, Series, Series]} */
export const allSeries = [
  { name: '3.10', suite: 'bookworm' },
  { name: '4.0', suite: 'trixie' },
  { name: '4.3', suite: 'forky' },
];

/** The series that a cluster is made of: the oldest, with Mnesia, and the newest, with Khepri. */
export const clusterSeries = [allSeries[0], allSeries[2]];

/** What `--only` may name: a series, or the cluster. */
export const cluster = 'cluster';
export const allParts = [...allSeries.map(({ name }) => name), cluster];

/**
 * @param {string} version  e.g. 4.0.5
 * @param {Series} series
 */
export const isOfSeries = (version, { name }) => version === name || version.startsWith(`${name}.`);
