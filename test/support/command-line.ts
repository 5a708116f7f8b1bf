import { runCli } from '../../src/cli/run-cli';

/** How a command ended, and what it wrote. */
export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export type Environment = Readonly<Record<string, string>>;

/** Runs `order-timeout` in this process, with nothing but this environment. */
export async function runCommand(environment: Environment, ...args: readonly string[]): Promise<CommandResult> {
  let [out, err] = ['', ''];
  const terminal = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    isInteractive: false,
  };
  const code = await runCli(args, environment, terminal);
  return { code, out, err };
}

/** The same with `--json`. @throws if the output is not one JSON document */
export async function runJson<T>(environment: Environment, ...args: readonly string[]): Promise<T & { code: number }> {
  const { code, out } = await runCommand(environment, ...args, '--json');
  return { ...(JSON.parse(out) as T), code };
}

/** Where the management plugin of the broker of the tests is. */
export function managementUrl(): string {
  return process.env.RABBITMQ_MANAGEMENT_URL ?? '';
}
