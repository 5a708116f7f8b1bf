import { join } from 'node:path';
import ts from 'typescript';
import { placeOf, readSnippets, REPOSITORY, type Snippet } from '../../support/snippets';

/** Where the rest of a snippet says that the snippet belongs; otherwise it comes first. */
const PLACE = '/* the snippet */';

const snippets = readSnippets('ts');

/** A snippet as a module of its own, next to the others of its page. Its lines keep their numbers within the snippet. */
function moduleOf(snippet: Snippet): { readonly file: string; readonly source: string; readonly firstLine: number } {
  const [head = '', ...rest] = snippet.note.split('\n');
  const [, name = `line-${snippet.line}.ts`] = /file=(\S+)/.exec(head) ?? [];
  const file = join(REPOSITORY, 'docs', '.snippets', snippet.page.replaceAll('/', '-'), name);
  const frame = rest.join('\n');
  const [before, after] = frame.includes(PLACE) ? frame.split(PLACE) : [frame, ''];
  const firstLine = (before ?? '').split('\n').length - 1;
  return { file, source: `${before}${snippet.text}${after}\nexport {};\n`, firstLine };
}

/** A program of all snippets. They are in memory; only they are checked, and what they import is read. */
function compile(sources: ReadonlyMap<string, string>): ts.Program {
  const { config } = ts.readConfigFile(join(REPOSITORY, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, REPOSITORY);
  const own: ts.CompilerOptions = {
    ...options,
    noEmit: true,
    // As in the applications of most readers: strict, and nothing beyond it.
    exactOptionalPropertyTypes: false,
    noUncheckedIndexedAccess: false,
    // Parts of modules may await at their top level, and import each other without an extension.
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(own);
  const disk = { ...host };
  host.fileExists = (file) => sources.has(file) || disk.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? disk.readFile(file);
  host.directoryExists = (folder) =>
    [...sources.keys()].some((file) => file.startsWith(folder)) || disk.directoryExists?.(folder) === true;
  host.getSourceFile = (file, version, ...others) => {
    const source = sources.get(file);
    return source === undefined
      ? disk.getSourceFile(file, version, ...others)
      : ts.createSourceFile(file, source, version);
  };
  return ts.createProgram([...sources.keys()], own, host);
}

describe('TypeScript in the documentation', () => {
  const modules = new Map(snippets.map((snippet) => [snippet, moduleOf(snippet)]));
  const program = compile(new Map([...modules.values()].map(({ file, source }) => [file, source])));

  const problemsOf = (snippet: Snippet): string[] => {
    const { file, firstLine } = modules.get(snippet) ?? moduleOf(snippet);
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ start = 0, messageText }) => {
      const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) - firstLine + snippet.line;
      return `${snippet.page}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  };

  it('is on many pages', () => expect(snippets.length).toBeGreaterThan(30));

  it.each(snippets.map((snippet) => [placeOf(snippet), snippet] as const))('compiles at %s', (_, snippet) => {
    expect(problemsOf(snippet)).toEqual([]);
  });
});
