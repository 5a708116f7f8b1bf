// What npm publishes (docs/hosts.md, "What is installed").
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ensureBuilds, npm } from '../setup/build.mjs';
import { parseJson, readJson } from '../setup/files.mjs';
import { repository } from '../setup/paths.mjs';
import { run } from '../setup/processes.mjs';
import { addedPackages } from '../../test/hosts/installations.mjs';

/** @typedef {import('../../test/hosts/installations.mjs').Packed} Packed */
/** @typedef {{ main: string, types: string, bin?: Record<string, string>, exports: Record<string, string | Record<string, string>> }} Manifest */

const product = { name: 'nestjs-order-timeout', folder: '', maxPacked: 1_100_000, maxUnpacked: 4_000_000 };
const simulator = {
  ...{ name: 'nestjs-order-timeout-payment-simulator', folder: 'packages/payment-simulator' },
  ...{ maxPacked: 90_000, maxUnpacked: 350_000 },
};
const packages = [product, simulator];
const allowed =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/(?!internals\/|pictures\/).+\.(md|json)|observability\/(alerts\.yml|dashboards\/[\w-]+\.json)|bin\/[\w-]+\.js|dist\/.+\.(js|d\.ts)|dist\/operator-page\/(index\.html|app-\w+\.css))$/;

/** @type {Map<string, Packed>} */
const packed = new Map();

before(async () => {
  await ensureBuilds();
  for (const { name, folder } of packages) {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const printed = await run(...npm(args), { cwd: join(repository, folder), limitMs: 60_000 });
    const [one] = /** @type {Packed[]} */ (parseJson(printed));
    assert.ok(one);
    packed.set(name, one);
  }
});

/** Built from packages/operator-page, and not from src. @param {string} path */
const isOfPage = (path) => path.startsWith('dist/operator-page/');

/** @param {string} name */
function packedOf(name) {
  const one = packed.get(name);
  assert.ok(one);
  return { ...one, paths: one.files.map(({ path }) => path) };
}

/** What package.json names. @param {string} folder */
function namedFiles(folder) {
  const {
    main,
    types,
    bin = {},
    exports,
  } = /** @type {Manifest} */ (readJson(join(repository, folder, 'package.json')));
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? target : Object.values(target),
  );
  return [main, types, ...Object.values(bin), ...targets].map((path) => path.replace(/^\.\//, ''));
}

for (const { name, folder, maxPacked, maxUnpacked } of packages) {
  test(`${name}: what is packed is code, declarations, documentation, and the contract`, () => {
    assert.deepEqual(
      packedOf(name).paths.filter((path) => !allowed.test(path)),
      [],
    );
  });

  test(`${name}: every file of src is packed, and nothing else is in dist`, () => {
    const sources = readdirSync(join(repository, folder, 'src'), { recursive: true, encoding: 'utf8' });
    const compiled = sources
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => ['.js', '.d.ts'].map((suffix) => `dist/${path.replace(/\.ts$/, suffix)}`));
    const inDist = packedOf(name).paths.filter((path) => path.startsWith('dist/') && !isOfPage(path));
    assert.deepEqual(inDist.sort(), compiled.sort());
  });

  test(`${name}: what package.json names is packed`, () => {
    const { paths } = packedOf(name);
    assert.deepEqual(
      namedFiles(folder).filter((path) => !paths.includes(path)),
      [],
    );
  });

  test(`${name}: its size has a limit`, () => {
    const { size, unpackedSize } = packedOf(name);
    assert.ok(size <= maxPacked, `${size} bytes packed`);
    assert.ok(unpackedSize <= maxUnpacked, `${unpackedSize} bytes unpacked`);
  });
}

test('the operator page is packed: its index, and the files that the index names', () => {
  const index = readFileSync(join(repository, 'dist/operator-page/index.html'), 'utf8');
  const named = [...index.matchAll(/(?:src|href)="\.\/([\w.-]+)"/g)].map(([, file]) => file);
  assert.deepEqual(named.map((file) => file?.replace(/-\w+/, '')).sort(), ['app.css', 'app.js']);
  assert.deepEqual(
    packedOf(product.name).paths.filter(isOfPage).sort(),
    ['index.html', ...named].map((file) => `dist/operator-page/${file}`).sort(),
  );
});

test('the documentation states the limits of the size', () => {
  const page = readFileSync(join(repository, 'docs/hosts.md'), 'utf8');
  const [, kilobytes, megabytes] = /at most (\d+) kB packed and ([\d.]+) MB unpacked/.exec(page) ?? [];
  assert.deepEqual(
    [Number(kilobytes) * 1_000, Number(megabytes) * 1_000_000],
    [product.maxPacked, product.maxUnpacked],
  );
});

test('the documentation states the packages that a host gets', () => {
  const page = readFileSync(join(repository, 'docs/hosts.md'), 'utf8');
  const lock = /** @type {import('../../test/hosts/installations.mjs').Lock} */ (
    readJson(join(repository, 'package-lock.json'))
  );
  const added = addedPackages(lock);
  const [, stated] = /adds (\d+) packages/.exec(page) ?? [];
  assert.equal(Number(stated), added.length, added.join(', '));
  for (const name of added) assert.ok(page.includes(`\`${name}\``), `${name} is not on the page`);
});

test('no host is told an exact version, and none of its packages comes twice', () => {
  const { dependencies, peerDependencies } = /** @type {Record<string, Record<string, string>>} */ (
    readJson(join(repository, 'package.json'))
  );
  const ranges = Object.entries({ ...dependencies, ...peerDependencies });
  assert.deepEqual(
    ranges.filter(([, range]) => !range.split(' || ').every((one) => one.startsWith('^'))),
    [],
  );
  const hosts = Object.keys(dependencies ?? {}).filter((name) =>
    /^(@nestjs\/|typeorm$|pg$|rxjs$|reflect-metadata$)/.test(name),
  );
  assert.deepEqual(hosts, []);
});
