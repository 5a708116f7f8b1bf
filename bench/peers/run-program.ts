import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { COMPILER, END_WITH_PARENT } from '../../test/support/servers/program-file';
import { type Ring, type Sample } from '../contestant';
import { fromBench } from './from-bench';
import { type AppendFsync, startRedis } from './redis-server';

const program = join(__dirname, 'program.mjs');
const STDERR_TAIL = 2_000;

/** Who does a shape: a module of this folder, and what only that one has to know. */
export interface Runner {
  readonly peer: 'bullmq' | 'pg-boss' | 'graphile-worker' | 'rabbitmq' | 'product';
  readonly appendFsync?: AppendFsync;
  /** Of the product. */
  readonly transport?: 'ladder' | 'none' | 'delayed-exchange';
  readonly isSingle?: boolean;
  /** A transaction for each timeout, ten at once. */
  readonly isAlone?: boolean;
  /** Many orders in one transaction. */
  readonly isBatched?: boolean;
}

/** What is done; see shapes.mjs. */
export interface Shape {
  readonly shape: 'schedule' | 'bulk' | 'fire' | 'close';
  /** Jobs. */
  readonly count: number;
  /** Between the start of scheduling and the first deadline. */
  readonly leadMs?: number;
  /** Between the first and the last deadline. */
  readonly spreadMs?: number;
}

/** Runs one shape in a process of its own, with a Redis of its own where it needs one. */
export async function runProgram(runner: Runner, shape: Shape, ring: Ring): Promise<Sample> {
  const redis = runner.appendFsync && (await startRedis(runner.appendFsync));
  try {
    const { databaseUrl, amqpUrl } = ring;
    const task = { leadMs: 0, spreadMs: 0, ...runner, ...shape, databaseUrl, amqpUrl, redisUrl: redis?.url };
    return await tell(runner, task, ring);
  } finally {
    await redis?.close();
  }
}

async function tell({ peer }: Runner, task: object, ring: Ring): Promise<Sample> {
  // The product runs on the Node of its user, and its sources are compiled as they are loaded.
  const node = peer === 'product' ? process.execPath : fromBench('OT_BENCH_NODE');
  const preload = ['--require', END_WITH_PARENT, ...(peer === 'product' ? ['--require', COMPILER] : [])];
  const { signal, profileFolder } = ring;
  const profile =
    profileFolder === undefined || peer !== 'product' ? [] : ['--cpu-prof', '--cpu-prof-dir', profileFolder];
  const child = spawn(node, [...preload, ...profile, program, JSON.stringify(task)], {
    env: { PATH: process.env.PATH, OT_BENCH_PEERS: fromBench('OT_BENCH_PEERS') },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    signal,
  });
  const read = (stream: Readable | null): Promise<string> => (stream ? text(stream) : Promise.resolve(''));
  const [stdout, stderr, [code]] = await Promise.all([
    read(child.stdout),
    read(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`${peer} ended with ${String(code)}: ${stderr.slice(-STDERR_TAIL)}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Sample;
}
