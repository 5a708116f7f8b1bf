import { OwnServer } from '../support/servers/own-server';
import { Players } from './players';
import { shrink } from './shrink';
import { readSimulationOptions, type SimulationOptions } from './simulation-options';
import { WEAKNESSES, type Weakness } from './weaknesses';
import { SOCKET } from './backends';
import { type Story } from './world';

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const options = readSimulationOptions(process.argv.slice(2), Date.now());
  say(`seed ${options.seed}; the same worlds again: --seed ${options.seed}`);
  const server = process.env.DATABASE_URL === undefined ? await openServer() : undefined;
  try {
    return await (options.weaknesses.length === 0 ? playOurs(options) : playWeaker(options));
  } finally {
    await server?.close();
  }
}

/** A PostgreSQL for these worlds alone, which players find in the environment. */
async function openServer(): Promise<OwnServer> {
  const server = await OwnServer.openServer('forgetful-postgres');
  Object.assign(process.env, { DATABASE_URL: server.text('databaseUrl'), [SOCKET]: server.text('socket') });
  return server;
}

async function playWeaker(options: SimulationOptions): Promise<number> {
  let missed = 0;
  say('| weakness | worlds | seed | what is wrong |\n|---|---|---|---|');
  for (const weakness of WEAKNESSES.filter(({ name }) => options.weaknesses.includes(name)))
    if (!(await isFound(weakness, options))) missed += 1;
  say(missed === 0 ? 'ok: each is found' : `${missed} are not found`);
  return missed === 0 ? 0 : 1;
}

async function playOurs({ seed, worlds, seconds, trace, workers, name }: SimulationOptions): Promise<number> {
  const began = Date.now();
  const sum = { worlds: 0, bad: 0, statements: 0 };
  const players = await Players.open({ workers, name });
  let first: Story | undefined;
  const tell = (story: Story): boolean => {
    if (story.problems.length > 0) first ??= story;
    sum.worlds += 1;
    sum.statements += story.statements;
    if (trace !== undefined) say(story.trace.filter((line) => trace === 'all' || isTold(line)).join('\n'));
    if (story.problems.length > 0) sum.bad += 1;
    if (story.problems.length > 0 || worlds <= 3) say(sentenceOf(story));
    return true;
  };
  await players.play({ seed, worlds, limitMs: seconds * 1_000, isTraced: trace !== undefined, tell });
  if (first) tellStory(await shrink(players, first));
  await players.close();
  const took = ((Date.now() - began) / 1_000).toFixed(0);
  say(`${sum.worlds} worlds, ${sum.bad} bad, ${sum.statements} statements, ${took} s`);
  return sum.bad > 0 ? 1 : 0;
}

/** Plays worlds of a weaker product until one is bad. */
async function isFound({ name: weakness, says }: Weakness, options: SimulationOptions): Promise<boolean> {
  const { seed, worlds, seconds, workers, name } = options;
  let played = 0;
  let found: Story | undefined;
  const tell = (story: Story): boolean => {
    played += 1;
    if (story.problems.length > 0) found ??= story;
    return found === undefined;
  };
  const players = await Players.open({ workers, name, weakness });
  await players.play({ seed, worlds, limitMs: seconds * 1_000, isTraced: false, tell });
  await players.close();
  const what = found ? `${found.seed} | ${found.problems[0]?.split('\n')[0]}` : '- | nothing';
  say(`| \`${weakness}\` ${says} | ${played} | ${what} |`);
  return found !== undefined;
}

function tellStory(story: Story): void {
  say(`The smallest world like ${story.seed}, with ${story.people.length} people:`);
  say(story.trace.filter(isTold).join('\n'));
  say(story.problems.map((problem) => `  ${problem}`).join('\n'));
}

/** Statements, and what goes between service and broker, are for those who want all. */
function isTold(line: string): boolean {
  return !/session \d+|broker: |time goes by/.test(line);
}

function sentenceOf({ seed, digest, steps, statements, problems }: Story): string {
  const what = problems.length === 0 ? 'nothing wrong' : `\n  ${problems.join('\n  ')}`;
  return `world ${seed} (${digest}, ${steps} steps, ${statements} statements): ${what}`;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
