import { z } from 'zod';
import { SIMULATOR_SECRET } from './merchant-secrets';

const number = z
  .string()
  .regex(/^\d+(\.\d+)?$/, { error: ({ input }) => `${JSON.stringify(input)} is not a number` })
  .transform(Number);
const accounts = z.string().transform((list) => list.split(','));

const environment = z.object({
  PAYMENT_SIMULATOR_PORT: number.pipe(z.int().max(65_535)).default(0),
  PAYMENT_SIMULATOR_HOST: z.string().default('127.0.0.1'),
  PAYMENT_SIMULATOR_SECRET: z.string().default(SIMULATOR_SECRET),
  PAYMENT_SIMULATOR_NAME: z.string().default('simulator'),
  PAYMENT_SIMULATOR_ACCOUNTS: accounts.pipe(z.array(z.string().min(1).max(64))).optional(),
  PAYMENT_SIMULATOR_RETRY_SPEED_UP: number.pipe(z.number().positive()).default(1),
});

/**
 * What the command takes from its environment. An empty variable counts as not set.
 *
 * @throws TypeError that lists every invalid value
 */
export function readEnvironment(env: NodeJS.ProcessEnv): z.output<typeof environment> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const read = environment.safeParse(set);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path: [name], message }) => `${String(name)}: ${message}`);
  throw new TypeError(`${problems.join('; ')}; see --help`);
}
