import { container, type Container, containers, inShell } from './compose-project';

/** Services whose containers are not as docs/docker.md promises, with what is wrong. */
export async function unconfined(): Promise<string[]> {
  const services = Object.keys(await containers());
  if (services.length === 0) return ['nothing runs'];
  const problems = await Promise.all(services.map(problemsOf));
  return problems.flat();
}

async function problemsOf(service: string): Promise<string[]> {
  const found = await container(service);
  const problems = settingsOf(found).filter(([, isRight]) => !isRight);
  const users = await usersOf(found);
  const canWrite = await inShell(`docker exec --user 0 ${found.Id} sh -c 'echo > /written'`).then(
    () => true,
    () => false,
  );
  return [
    ...problems.map(([what]) => `${service}: ${what}`),
    ...(users.length > 0 && !users.includes('0') ? [] : [`${service}: runs as ${users.join(', ')}`]),
    ...(canWrite ? [`${service}: writes to its image`] : []),
  ];
}

function settingsOf({ HostConfig }: Container): [string, boolean][] {
  return [
    ['the root file system is writable', HostConfig.ReadonlyRootfs],
    ['has capabilities', HostConfig.CapDrop?.includes('ALL') ?? false],
    ['may gain privileges', HostConfig.SecurityOpt?.includes('no-new-privileges:true') ?? false],
  ];
}

/** The numbers of the users that the processes of a container run as. */
async function usersOf({ Id }: Container): Promise<string[]> {
  const [, ...rows] = (await inShell(`docker top ${Id} -eo uid,pid`)).trim().split('\n');
  return [...new Set(rows.map((row) => row.trim().split(/\s+/)[0] ?? ''))];
}
