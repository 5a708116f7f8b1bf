/** What bench/obtain-peers.mjs has obtained: packages of the peers, a Node for them, redis-server. */
export function fromBench(name: 'OT_BENCH_PEERS' | 'OT_BENCH_NODE' | 'OT_BENCH_REDIS'): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by \`npm run suite -- bench\``);
  return value;
}
