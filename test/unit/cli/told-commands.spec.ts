import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { Cli } from '../../../src/cli/cli';
import { createProgram } from '../../../src/cli/run-cli';

const root = join(__dirname, '../../..');
const PLACES = ['src', 'docs', 'packages/operator-page/src', 'observability'];
const TEXT = /\.(ts|tsx|md|yml)$/;
/** The program at the start of a command, and not as a part of a longer name or path. */
const NAMED = /(?:(?<![\w./@"'<-])order-timeout|dist\/cli\/main\.js) ([a-z-][^\n]*)/g;
/** What may follow a command in a text: the end of its quotation, a redirection, an explanation. */
const END = /[`()|>;"]|, |\.(?: |$)|\s#|' \+|\\n/;
/** What starts like a command and is none. */
const NO_COMMANDS = ['order-timeout cannot start: any-value', 'order-timeout operator session'];

interface Told {
  readonly command: string;
  readonly at: string;
}

function readTexts(): { readonly name: string; readonly text: string }[] {
  const names = PLACES.flatMap((place) =>
    readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).map((name) => `${place}/${name}`),
  );
  const texts = ['README.md', ...names].filter((name) => TEXT.test(name));
  return texts.map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
}

/** Without the quotation mark that ends the string which the command is in. */
const unquoted = (text: string): string => (text.split("'").length % 2 === 0 ? text.replace(/'$/, '') : text);

/** Stands for a value that is filled in later. */
const ANY = 'any-value';
const filledIn = (text: string): string => text.replaceAll(/\$\{[^}]*\}|<[a-z]+>/g, ANY);

const commands: Told[] = readTexts().flatMap(({ name, text }) =>
  [...filledIn(text).matchAll(NAMED)].map(([, rest = '']) => {
    const command = unquoted(`order-timeout ${rest.split(END)[0] ?? ''}`.trim());
    return { command, at: `${name}: ${command}` };
  }),
);

/** As a shell splits a command, as far as the docs need it. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

function withoutActions(command: Command): void {
  command.action(() => undefined);
  command.commands.forEach(withoutActions);
}

/** What the program says of the arguments of a command, without running it; undefined: it takes them. */
async function problemOf(command: string): Promise<string | undefined> {
  let said = '';
  const note = (text: string): void => void (said += text);
  const program = createProgram(new Cli({}, { out: note, err: note, isInteractive: false }));
  program.commands.forEach((one) => (one.commands.length > 0 ? one.commands : [one]).forEach(withoutActions));
  try {
    await program.parseAsync(wordsOf(command).slice(1), { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) return undefined;
    // What is filled in is one of the choices.
    const [, choice] = new RegExp(`value '${ANY}' is invalid .* Allowed choices are (\\w+)`).exec(said) ?? [];
    if (choice !== undefined) return problemOf(command.replace(ANY, choice));
    // A sentence may name a command without its arguments.
    if (/^[a-z -]+$/.test(command) && !command.includes(' --') && /^error: (missing|required)/.test(said))
      return undefined;
    return said.trim() || error.message;
  }
}

describe('a command that the product tells', () => {
  it('is taken by the program, with all of its options', async () => {
    const told = commands.filter(({ command }) => !NO_COMMANDS.includes(command));
    const problems = await Promise.all(told.map(async ({ command, at }) => [at, await problemOf(command)] as const));
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
    expect(told.length).toBeGreaterThan(40);
  });

  it.each([
    ['order-timeout parked list timeouts --kind order.payment', 'unknown option'],
    ['order-timeout park list', 'unknown command'],
    ['order-timeout parked list letters', 'Allowed choices'],
    ['order-timeout orders extend --by 1h', 'missing required argument'],
  ])('is refused here if it is wrong: %s', async (command, problem) => {
    expect(await problemOf(command)).toContain(problem);
  });
});
