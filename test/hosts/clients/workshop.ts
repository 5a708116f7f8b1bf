import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder in which a client is generated, next to the generators. */
export class Workshop {
  private readonly generators: string;
  readonly folder: string;

  constructor() {
    const { OT_GENERATORS: generators } = process.env;
    if (generators === undefined) throw new Error('OT_GENERATORS is not set; run npm run suite -- clients');
    this.generators = generators;
    this.folder = mkdtempSync(join(generators, 'client-'));
  }

  /** A file of a generator's package. */
  file(path: string): string {
    return join(this.generators, 'node_modules', path);
  }

  /** Runs a program in the folder, and returns the lines of its output. */
  async run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
    const { stdout } = await run(program, args, {
      cwd: this.folder,
      env: { ...process.env, ...env },
      maxBuffer: 64 * 1_024 * 1_024,
      timeout: 90_000,
    });
    return stdout.trim().split('\n');
  }

  /** Runs a program of a generator's package. */
  generate(path: string, ...args: string[]): Promise<string[]> {
    return this.run(process.execPath, [this.file(path), ...args]);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
