import { type Players } from './players';
import { type Story } from './world';

/** A bad world is played again so often at most. */
const TRIES = 60;

/** The smallest world that is still bad in the same way: without the people who had no part in it. With its trace. */
export async function shrink(players: Players, { seed, problems, people }: Story): Promise<Story> {
  const kind = kindOf(problems);
  let smallest = await players.playOne({ seed, isTraced: true });
  let absent: readonly string[] = [];
  let tries = 0;
  // The last ones first: whoever was sent by somebody comes after him.
  for (const name of [...people].reverse()) {
    if (++tries > TRIES) break;
    const without = [...absent, name];
    const story = await players.playOne({ seed, isTraced: true, absent: without });
    if (kindOf(story.problems) !== kind) continue;
    absent = without;
    smallest = story;
  }
  return smallest;
}

/** What is wrong, whatever it is called, and without a stack. */
function kindOf([first = '']: readonly string[]): string {
  const [line = ''] = first.split('\n');
  return line.replace(/\S*\d\S*/g, '#');
}
