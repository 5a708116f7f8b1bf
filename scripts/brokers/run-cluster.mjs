import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../setup/error-code.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { ownSpecs, runJest } from './run-jest.mjs';

/**
 * @param {string} name  of the series
 * @param {{ databaseUrl: string, signal: AbortSignal }} options
 * @returns {Promise<import('./run-jest.mjs').SuiteResult & { figures: string[] }>}
 */
export function runCluster(name, { databaseUrl, signal }) {
  const figuresFile = join(stackFolder('log'), `brokers-${name}-cluster.figures`);
  rmSync(figuresFile, { force: true });
  const env = { DATABASE_URL: databaseUrl, BROKER_SERIES: name, BROKER_FIGURES_FILE: figuresFile };
  const args = [...ownSpecs, '--testPathPatterns', 'test/brokers/cluster'];
  return showProgress(`cluster of RabbitMQ ${name}`, async () => {
    const [result] = await runJest({ name: `brokers-${name}-cluster`, args, env, signal });
    if (!result) throw new Error('no spec was run');
    return { ...result, suite: 'cluster', figures: readFigures(figuresFile) };
  });
}

/** A spec that failed early has measured nothing. @param {string} path */
function readFigures(path) {
  try {
    return readFileSync(path, 'utf8').trim().split('\n');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
