import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Request, type WorldRequest } from './play';
import { type Story } from './world';

const REPOSITORY = join(__dirname, '..', '..');

const COMPILE = join(REPOSITORY, 'test', 'support', 'compile-on-require.js');

/** What a statement leaves behind is garbage soon. */
const YOUNG = ['--max-semi-space-size=64'];

export interface PlayersOptions {
  readonly workers: number;
  /** Their databases are called so, with a number. */
  readonly name: string;
  /** How the product is weakened, by name in weaknesses. */
  readonly weakness?: string | undefined;
}

export interface Play {
  readonly seed: number;
  /** At most so many, with neighboring seeds. */
  readonly worlds: number;
  /** No world begins later, real milliseconds. */
  readonly limitMs: number;
  readonly isTraced: boolean;
  /** Called for each, in the order of their ends. False: no further world begins. */
  readonly tell: (story: Story) => boolean;
}

/** Processes that play worlds, each with a database of its own. */
export class Players {
  private constructor(private readonly processes: readonly ChildProcess[]) {}

  static async open({ workers, name, weakness }: PlayersOptions): Promise<Players> {
    const env = { ...process.env, ...(weakness !== undefined && { SIMULATION_WEAKNESS: weakness }) };
    const processes = Array.from({ length: workers }, (_one, index) =>
      fork(join(__dirname, 'play.ts'), [`${name}_${index + 1}`], {
        cwd: REPOSITORY,
        env,
        execArgv: [...YOUNG, '-r', COMPILE],
      }),
    );
    await Promise.all(processes.map((one) => answerOf(one)));
    return new Players(processes);
  }

  async play({ seed, worlds, limitMs, isTraced, tell }: Play): Promise<void> {
    const endsAt = Date.now() + limitMs;
    let next = seed;
    let goesOn = true;
    const work = async (player: ChildProcess): Promise<void> => {
      while (goesOn && next < seed + worlds && Date.now() < endsAt) {
        player.send({ seed: next++, isTraced } satisfies Request);
        const story = (await answerOf(player)) as Story;
        goesOn = tell(story) && goesOn;
      }
    };
    await Promise.all(this.processes.map(work));
  }

  /** One world, alone. */
  async playOne(request: WorldRequest): Promise<Story> {
    const [player] = this.processes;
    if (!player) throw new Error('nobody plays');
    player.send(request);
    return (await answerOf(player)) as Story;
  }

  async close(): Promise<void> {
    const ends = this.processes.map((one) => once(one, 'exit'));
    for (const one of this.processes) one.send('end' satisfies Request);
    await Promise.all(ends);
  }
}

async function answerOf(player: ChildProcess): Promise<unknown> {
  const end = new AbortController();
  try {
    const answer = once(player, 'message', { signal: end.signal }).then(([message]: unknown[]) => message);
    const exit = once(player, 'exit', { signal: end.signal }).then(([code]: unknown[]) => {
      throw new Error(`a player ended with code ${String(code)}`);
    });
    return await Promise.race([answer, exit]);
  } finally {
    end.abort();
  }
}
