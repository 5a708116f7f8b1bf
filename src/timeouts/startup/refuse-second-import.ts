import { type Type } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { CodedError } from '../../errors';

/** Two imports of a module would run two engines on the same tables and queues. */
export class ImportedTwiceError extends CodedError {
  constructor(module: string, count: number, importers: readonly string[]) {
    const by = importers.length > 0 ? ` (by ${importers.join(' and ')})` : '';
    super(
      'IMPORTED_TWICE',
      `${module} is imported ${count} times${by}; import it once, in the root module: it is global, and ` +
        'OrderTimeoutModule brings TimeoutsModule along',
    );
  }
}

/** @throws ImportedTwiceError when the application has made `module` more than once. */
export function refuseSecondImport(modules: ModulesContainer, module: Type): void {
  const all = [...modules.values()];
  const count = all.filter(({ metatype }) => metatype === module).length;
  if (count < 2) return;
  const importers = all.filter(({ metatype }) => importsOf(metatype).some((one) => moduleOf(one) === module));
  throw new ImportedTwiceError(
    module.name,
    count,
    importers.map(({ metatype }) => metatype.name),
  );
}

/** What its decorator names: Nest itself adds global modules to the imports of every module. */
function importsOf(metatype: object): unknown[] {
  return (Reflect.getMetadata('imports', metatype) as unknown[] | undefined) ?? [];
}

function moduleOf(imported: unknown): unknown {
  const isDynamic = typeof imported === 'object' && imported !== null && 'module' in imported;
  return isDynamic ? imported.module : imported;
}
