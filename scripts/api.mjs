// npm run api: compares the signatures of the public API with the approved ones in test/architecture/public-api.
// Hosts may check the declarations of libraries, so they must compile, too.
// npm run api -- --update: approves what there is.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { ensureBuilds } from './setup/build.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { say } from './setup/progress.mjs';
import { SetupError } from './setup/errors.mjs';

const reportFolder = join(repository, 'test', 'architecture', 'public-api');
const simulator = join(repository, 'packages', 'payment-simulator');

/** @type {ts.FormatDiagnosticsHost} */
const format = {
  getCurrentDirectory: () => repository,
  getCanonicalFileName: (name) => name,
  getNewLine: () => '\n',
};

/**
 * The declarations of each entry point of a package.
 *
 * @param {string} folder
 * @param {string} main the name of the report of its main entry point
 */
function entryPoints(folder, main) {
  /** @type {unknown} */
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { exports } = /** @type {{ exports: Record<string, string | { types: string }> }} */ (manifest);
  return Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [{ name: name === '.' ? main : name.slice(2), folder, types: target.types }],
  );
}

const entries = [...entryPoints(repository, 'index'), ...entryPoints(simulator, 'payment-simulator')];

/** @param {string} reportTempFolder @param {{ name: string, folder: string, types: string }} entry */
function configOf(reportTempFolder, { name, folder, types }) {
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: repository,
      mainEntryPointFilePath: join(folder, types),
      compiler: { tsconfigFilePath: join(repository, 'tsconfig.build.json') },
      apiReport: {
        enabled: true,
        reportFolder,
        reportTempFolder,
        reportFileName: name,
        includeForgottenExports: true,
      },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Error },
          // Everything that an entry point exports is public. What is not carries @internal and is not emitted.
          'ae-missing-release-tag': { logLevel: ExtractorLogLevel.None },
          'ae-undocumented': { logLevel: ExtractorLogLevel.None },
          // The reports contain these types, so a change of them is noticed.
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.None },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
}

/**
 * @param {boolean} localBuild approves what there is
 * @param {string} reportTempFolder
 */
function compare(localBuild, reportTempFolder) {
  const configs = entries.map((entry) => configOf(reportTempFolder, entry));
  const [first, ...others] = configs;
  if (!first) throw new Error('package.json exports nothing');
  // One program for all entry points, because they share nearly all of their declarations.
  const additionalEntryPoints = others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
  const compilerState = CompilerState.create(first, { additionalEntryPoints });
  return configs.map((config) =>
    Extractor.invoke(config, {
      localBuild,
      compilerState,
      messageCallback: (message) => {
        if (message.logLevel === ExtractorLogLevel.Error) say(message.formatMessageWithLocation(repository));
        message.handled = true;
      },
    }),
  );
}

/**
 * What a host that checks the declarations of libraries would read of ours: what is not emitted must not be needed.
 *
 * @param {string[]} files
 */
function faultsOf(files) {
  const resolution = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const options = { ...resolution, target: ts.ScriptTarget.ES2022, strict: true, types: ['node'], noEmit: true };
  const program = ts.createProgram(files, options);
  const own = program.getSourceFiles().filter(({ fileName }) => !fileName.includes('/node_modules/'));
  return own.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]);
}

await main(async ({ args, signal }) => {
  await ensureBuilds({ signal });
  const faults = faultsOf(entries.map(({ folder, types }) => join(folder, types)));
  if (faults.length > 0)
    throw new SetupError('DECLARATIONS_BROKEN', 'hosts that check the declarations of libraries do not compile', {
      remedy: `mend these:\n${ts.formatDiagnostics(faults, format)}`,
    });
  const isUpdate = args.includes('--update');
  mkdirSync(reportFolder, { recursive: true });
  const temporary = mkdtempSync(join(tmpdir(), 'public-api-'));
  const results = compare(isUpdate, temporary);
  rmSync(temporary, { recursive: true });
  const changed = results.filter(({ apiReportChanged }) => apiReportChanged);
  for (const { extractorConfig } of changed)
    say(`${isUpdate ? 'updated' : 'differs'}: ${extractorConfig.reportFilePath}`);
  if (results.every(({ errorCount }) => errorCount === 0) && (isUpdate || changed.length === 0)) return;
  throw new SetupError('PUBLIC_API_CHANGED', 'the public API is not the approved one', {
    remedy: 'run npm run api -- --update if you changed it on purpose, and commit the reports with a changelog entry',
  });
});
