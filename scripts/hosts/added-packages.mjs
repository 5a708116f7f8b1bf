/** @typedef {{ dependencies?: Record<string, string>, peerDependencies?: Record<string, string>, peerDependenciesMeta?: Record<string, { optional?: boolean }> }} LockedPackage */
/** @typedef {{ packages: Record<string, LockedPackage> }} Lock  package-lock.json */

/**
 * The packages that installing the product adds to a host that has its peers.
 *
 * @param {Lock} lock
 * @returns {string[]} sorted names
 */
export function addedPackages(lock) {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock.packages[''] ?? {};
  const required = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  const present = closure(lock, required);
  return [...closure(lock, Object.keys(dependencies))]
    .filter((path) => !present.has(path))
    .map((path) => path.replace(/^.*node_modules\//, ''))
    .sort();
}

/** The paths of the packages and of all that they need. @param {Lock} lock @param {string[]} names */
function closure(lock, names) {
  /** @type {Set<string>} */
  const found = new Set();
  const add = (/** @type {string} */ name, /** @type {string} */ from) => {
    const path = resolve(lock, name, from);
    if (path === undefined || found.has(path)) return;
    found.add(path);
    for (const one of Object.keys(lock.packages[path]?.dependencies ?? {})) add(one, path);
  };
  for (const name of names) add(name, '');
  return found;
}

/**
 * As Node.js does: the nearest folder above that has it.
 *
 * @param {Lock} lock
 * @param {string} name
 * @param {string} from
 * @returns {string | undefined}
 */
function resolve(lock, name, from) {
  for (let folder = from; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const path = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (path in lock.packages) return path;
    if (folder === '') return undefined;
  }
}
