import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
const compile = join(root, 'test/support/compile-on-require.js');

/** The service as a process of its own, from the sources. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<number | null>;
}

/** Starts src/main.ts with exactly this environment (and PATH). @param folder where src is: here, or another release */
export function startServiceProcess(env: Record<string, string>, folder = root): ServiceProcess {
  return startProgram([join(folder, 'src/main.ts')], env, folder);
}

/** Starts any other program of the sources. @param args its file, and its own arguments */
export function startProgram(args: readonly string[], env: Record<string, string>, folder = root): ServiceProcess {
  const child = spawn(process.execPath, ['-r', compile, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: 'pipe',
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  return { child, output, exited: once(child, 'close').then(([code]) => code as number | null) };
}
