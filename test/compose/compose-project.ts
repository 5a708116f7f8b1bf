import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { REPOSITORY } from '../support/snippets';
import { documented } from './documented-commands';

const execute = promisify(execFile);
const LIMIT_MS = 10 * 60_000;

export type Settings = Readonly<Record<string, string>>;

/** A container, as `docker inspect` describes it. */
export interface Container {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Pid: number; readonly Status: string; readonly Health?: { readonly Status: string } };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
  };
  readonly Config: { readonly Labels: Readonly<Record<string, string>>; readonly Image: string };
}

const name = process.env.COMPOSE_PROJECT_NAME ?? '';
const mine = `label=com.docker.compose.project=${name}`;

interface Failure extends Error {
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Runs a command of docs/docker.md in a shell, in this clone, with these variables added. Returns its output. */
export function runDocumented(command: string, settings: Settings = {}): Promise<string> {
  return inShell(documented(command), settings);
}

/** Runs a command that no page has. */
export async function inShell(command: string, settings: Settings = {}): Promise<string> {
  const env = { ...process.env, ...settings };
  const options = { cwd: REPOSITORY, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await execute('sh', ['-c', command], options).catch((error: Failure) => {
    const printed = `${error.stdout ?? ''}${error.stderr ?? ''}`.split('\n').slice(-60);
    throw new Error(`${command}\n${printed.join('\n')}`);
  });
  return stdout;
}

/** The containers of the tests, running or not, by the name of their service. */
export async function containers(): Promise<Readonly<Record<string, Container>>> {
  const ids = words(await inShell(`docker ps --all --quiet --filter ${mine}`));
  if (ids.length === 0) return {};
  const found = JSON.parse(await inShell(`docker inspect ${ids.join(' ')}`)) as Container[];
  return Object.fromEntries(found.map((one) => [one.Config.Labels['com.docker.compose.service'] ?? one.Name, one]));
}

/** The container of a service. */
export async function container(service: string): Promise<Container> {
  const found = (await containers())[service];
  if (!found) throw new Error(`${service} has no container`);
  return found;
}

/** Where the port of a service is published on this machine. */
export async function urlOf(service: string, port = 3000): Promise<string> {
  const address = await inShell(`docker compose port ${service} ${port}`);
  return `http://${address.trim()}`;
}

/** Ends the main process of a container from outside, as a crash would: Docker restarts it by itself. */
export async function crash(service: string): Promise<void> {
  const { State, Config } = await container(service);
  const run = 'docker run --rm --network none --pid host --user 0 --entrypoint kill';
  await inShell(`${run} ${Config.Image} -KILL ${State.Pid}`);
}

/** Stops and removes everything of the tests, with its data. */
export function removeAll(): Promise<string> {
  return inShell("docker compose --profile '*' down --volumes --remove-orphans --timeout 5");
}

/** The containers, volumes, and networks that exist. */
export async function leftovers(): Promise<string[]> {
  const [running, volumes, networks] = await Promise.all([
    inShell(`docker ps --all --quiet --filter ${mine}`),
    inShell(`docker volume ls --quiet --filter ${mine}`),
    inShell(`docker network ls --quiet --filter ${mine}`),
  ]);
  return words([running, volumes, networks].join('\n'));
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
