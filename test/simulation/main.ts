import 'reflect-metadata';
import { openPlace } from './place';
import { readSimulationOptions } from './simulation-options';
import { real } from './virtual-time';
import { playWorld, START_MS, type Story } from './world';

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const { seed, worlds, trace, name } = readSimulationOptions(process.argv.slice(2), real.Date.now());
  const place = await openPlace(name, START_MS);
  say(`seed ${seed}; the same worlds again: --seed ${seed}`);
  const began = real.monotonic();
  const stories: Story[] = [];
  for (let world = 0; world < worlds; world++) {
    const story = await playWorld(seed + world, place);
    stories.push({ ...story, trace: [] });
    if (trace !== undefined) say(story.trace.filter((line) => trace === 'all' || isTold(line)).join('\n'));
    if (story.problems.length > 0 || worlds <= 3) say(sentenceOf(story));
  }
  const ms = real.monotonic() - began;
  const bad = stories.filter(({ problems }) => problems.length > 0).length;
  const statements = stories.reduce((sum, story) => sum + story.statements, 0);
  say(`${worlds} worlds, ${bad} bad, ${statements} statements, ${(ms / worlds).toFixed(0)} ms a world`);
  await place.drop();
  return bad > 0 ? 1 : 0;
}

/** Statements, and what goes between service and broker, are for those who want all. */
function isTold(line: string): boolean {
  return !/session \d+|broker: |time goes by/.test(line);
}

function sentenceOf({ seed, digest, steps, statements, problems }: Story): string {
  const what = problems.length === 0 ? 'nothing wrong' : `\n  ${problems.join('\n  ')}`;
  return `world ${seed} (${digest}, ${steps} steps, ${statements} statements): ${what}`;
}

// At once: what a world leaves behind must not keep the process.
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? String(error.stack) : String(error)}\n`);
    process.exit(2);
  },
);
