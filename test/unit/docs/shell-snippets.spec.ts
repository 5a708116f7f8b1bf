import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { Cli } from '../../../src/cli/cli';
import { createProgram } from '../../../src/cli/run-cli';
import { parseOptions as parseDemo } from '../../../examples/demo/demo-options';
import { parseOptions as parseBench } from '../../../bench/bench-options';
import { WORKLOADS } from '../../../bench/workloads';
import { parseOptions as parseCampaign } from '../../faults/campaign/campaign-options';
import { readSimulationOptions } from '../../simulation/simulation-options';
import { readModelOptions } from '../../model/model-options';
import { parseOptions as parseScenarios } from '../../scenarios/scenario-options';
import { placeOf, readSnippets, REPOSITORY } from '../../support/snippets';

const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
// eslint-disable-next-line @typescript-eslint/no-require-imports -- a CommonJS configuration without types of its own
const jestConfig = require('../../../jest.config.js') as { projects: readonly { displayName: string }[] };

/** Options that a script reads without a parser that a test can call: they are in its source or not at all. */
const optionsIn =
  (file: string) =>
  (args: readonly string[]): void => {
    const unknown = args.filter((arg) => /^[-a-z]/.test(arg) && !read(file).includes(arg.replace(/^--/, '')));
    if (unknown.length > 0) throw new Error(`${file} does not know ${unknown.join(' ')}`);
  };

function checkJest(args: readonly string[]): void {
  args.forEach((arg, index) => {
    const value = args[index + 1] ?? '';
    const isProject = jestConfig.projects.some(({ displayName }) => displayName === value);
    if (arg === '--selectProjects' && !isProject) throw new Error(`there is no Jest project ${value}`);
    if (arg.startsWith('test/') && !existsSync(join(REPOSITORY, arg))) throw new Error(`there is no ${arg}`);
  });
}

/** Patterns of spec files must match some. */
function checkSpecs(folder: string, args: readonly string[]): void {
  const specs = readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' });
  const patterns = args.filter((arg) => !arg.startsWith('--'));
  const unmatched = patterns.filter(
    (pattern) => !specs.some((spec) => spec.endsWith('.spec.ts') && spec.includes(pattern)),
  );
  if (unmatched.length > 0) throw new Error(`no spec of ${folder} matches ${unmatched.join(' ')}`);
}

/** Parses the arguments without running the command. */
function checkCommandLine(args: readonly string[]): void {
  const cli = new Cli({}, { out: () => undefined, err: () => undefined, isInteractive: false });
  const ends = args.indexOf('>');
  const program = createProgram(cli);
  const stopBeforeAction = (): never => {
    throw new CommanderError(0, 'parsed', 'the arguments are right');
  };
  program.hook('preAction', stopBeforeAction);
  try {
    program.parse(ends < 0 ? args : args.slice(0, ends), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
}

const takesNothing = (args: readonly string[]): void => {
  if (args.length > 0) throw new Error(`it takes no arguments: ${args.join(' ')}`);
};

/** What each suite makes of its arguments. Throws if it would refuse them. */
const SUITES: Readonly<Record<string, (args: readonly string[]) => unknown>> = {
  bench: (args) =>
    parseBench(
      args,
      WORKLOADS.map(({ id }) => id),
    ),
  brokers: optionsIn('test/brokers/series.mjs'),
  faults: (args) => parseCampaign(args, 1),
  model: (args) => readModelOptions(args, 1, 1),
  mutation: (args) => {
    const missing = args.filter((arg) => !arg.startsWith('--') && !existsSync(join(REPOSITORY, arg)));
    if (missing.length > 0) throw new Error(`there is no ${missing.join(' ')}`);
  },
  operator: (args) => checkSpecs('test/operator', args),
  scenarios: (args) => parseScenarios(args, 1),
  simulation: (args) => readSimulationOptions(args, 1),
  soak: optionsIn('test/load/soak.ts'),
};

const listed = execFileSync(process.execPath, ['scripts/suite.mjs'], { cwd: REPOSITORY, encoding: 'utf8' });
const suites = listed.split('\n').map((line) => line.split(' ')[0]);

function checkSuite([name = '', ...args]: readonly string[]): void {
  if (name !== 'NAME' && !suites.includes(name)) throw new Error(`there is no suite ${name}`);
  if (args[0] === '--') throw new Error(`-- is too much: ${args.join(' ')}`);
  (SUITES[name] ?? takesNothing)(args);
}

/** What each script makes of its arguments. Throws if it would refuse them. */
const ARGUMENTS: Readonly<Record<string, (args: readonly string[]) => unknown>> = {
  demo: parseDemo,
  test: checkJest,
  suite: checkSuite,
  tracing: optionsIn('examples/tracing/main.ts'),
  build: optionsIn('scripts/build.mjs'),
  stack: optionsIn('scripts/stack.mjs'),
  api: optionsIn('scripts/api.mjs'),
  contract: optionsIn('packages/contract/src/main.ts'),
};

/** Programs that are not ours, and what of their arguments can be wrong by a change of ours. */
const OTHERS: Readonly<Record<string, (args: readonly string[]) => unknown>> = {
  // test/e2e/documented-requests.spec.ts sends what goes to the service.
  curl: (args) => (args.includes('-d') ? (JSON.parse(args[args.indexOf('-d') + 1] ?? '') as unknown) : undefined),
  docker: (args) => {
    const names = args.filter((arg) => arg === 'postgres' || /^(rabbitmq(?!ctl)|service)/.test(arg));
    for (const name of names) expect(read('docker-compose.yml')).toContain(`\n  ${name}:\n`);
  },
  cd: () => undefined,
  git: () => undefined,
  node: () => undefined, // the program of a host
  npx: ([program = '', ...args]) => {
    if (program === 'jest') return checkJest(args);
    // test/hosts/newcomer runs the commands of README.md.
    if (program === 'nest' || program === '@nestjs/cli') return;
    if (program === 'order-timeout') return checkCommandLine(args);
    const { bin } = JSON.parse(read('packages/payment-simulator/package.json')) as { bin: Record<string, string> };
    if (bin[program] === undefined) throw new Error(`no package of ours has the program ${program}`);
  },
  openssl: () => undefined, // snippets.spec.ts computes the same signature
  printf: () => undefined,
  promtool: (args) => read(join('observability', args.at(-1) ?? '')),
  rabbitmqctl: (args) => JSON.parse(args.find((arg) => arg.startsWith('{')) ?? '{}') as unknown,
  sleep: () => undefined,
  stripe: () => undefined,
};

/** The words of each command of a script, as a shell would split them. */
function commandsOf(text: string): string[][] {
  const joined = text.replace(/\\\n/g, ' ').replace(/'[^']*'/g, (quoted) => quoted.replaceAll('\n', ' '));
  const [, shorthand] = /^(\w+)\(\) \{ curl .*\}$/m.exec(joined) ?? [];
  return joined.split('\n').flatMap((line) => {
    const code = line.replace(/^\w+\(\) \{.*\}$|(^|\s)#.*$/, '').trim();
    const bare = code.replace(/^eval "\$\((.*)\)"$/, '$1');
    return bare.split(/\s[|&]\s|\s\|$|\s&$/).flatMap((command) => {
      const words = wordsOf(command.trim());
      const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
      if (first < 0) return [];
      const [program = '', ...rest] = words.slice(first);
      return [[program === shorthand ? 'curl' : program, ...rest]];
    });
  });
}

function wordsOf(command: string): string[] {
  const words = command.match(/(?:'[^']*'|"[^"]*"|[^\s'"]+)+/g) ?? [];
  return words.map((word) => word.replace(/^(['"])(.*)\1$/s, '$2'));
}

function checkCommand([program = '', ...words]: readonly string[]): void {
  if (program !== 'npm') {
    const check = OTHERS[program];
    if (!check) throw new Error(`no test knows the program ${program}`);
    check(words);
    return;
  }
  const [verb = '', ...rest] = words;
  if (verb !== 'run' && scripts[verb] === undefined) return;
  const names = verb === 'run' ? rest.filter((word) => word !== '-s') : words;
  const [name = '', separator, ...args] = names;
  if (scripts[name] === undefined) throw new Error(`package.json has no script ${name}`);
  if (separator !== undefined && separator !== '--' && separator !== '>')
    throw new Error(`-- is missing: ${words.join(' ')}`);
  if (separator === '--')
    (ARGUMENTS[name] ?? takesNothing)(args.slice(0, args.includes('>') ? args.indexOf('>') : undefined));
}

describe('commands in the documentation', () => {
  const snippets = readSnippets('sh');

  it.each(snippets.map((snippet) => [placeOf(snippet), snippet] as const))('exist at %s', (_, { text }) => {
    const commands = commandsOf(text);
    expect(commands.length).toBeGreaterThan(0);
    commands.forEach(checkCommand);
  });

  // `npm …` within a sentence. An ellipsis or a word in capitals or angle brackets stands for what the reader puts there.
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: REPOSITORY, encoding: 'utf8' }).trim().split('\n');
  const inline = pages.flatMap((page) => [...read(page).matchAll(/`(npm [^`]+)`/g)].map(([, command = '']) => command));
  const whole = [...new Set(inline)].filter((command) => !/…|<|ARGUMENTS/.test(command));

  it.each(whole)('exist in sentences: %s', (command) => checkCommand(commandsOf(command)[0] ?? []));

  it.each([
    'npm run nothing',
    'npm run demo --orders 3',
    'npm run demo -- --transport pigeon',
    'npm run stack -- sideways',
    'npm run suite -- nothing',
    'npm run suite model',
    'npm run suite -- model -- --runs 3',
    'npm run suite -- model --walks 3',
    'npm test -- --selectProjects nothing',
    'docker compose up rabbitmq-other',
    'npx order-timeout orders explode',
    'npx order-timeout purge --colour',
    'unheard-of --help',
  ])('are noticed when they do not: %s', (command) => {
    expect(() => checkCommand(commandsOf(command)[0] ?? [])).toThrow();
  });
});
