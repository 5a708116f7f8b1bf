import { execFileSync } from 'node:child_process';
import { type Ring } from '../contestant';

/** What the broker of a ring takes of the machine, bytes. */
export interface BrokerUsage {
  readonly memory: number;
  readonly disk: number;
}

/** The whole node: with nobody else on it, differences are this run's. */
export async function brokerUsage({ managementUrl, brokerFolder }: Ring): Promise<BrokerUsage> {
  const { origin, username, password } = new URL(managementUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const answer = await fetch(`${origin}/api/nodes`, { headers: { authorization } });
  const [node] = (await answer.json()) as { mem_used: number }[];
  const disk = Number(execFileSync('du', ['-sb', brokerFolder], { encoding: 'utf8' }).split('\t')[0]);
  return { memory: node?.mem_used ?? NaN, disk };
}
