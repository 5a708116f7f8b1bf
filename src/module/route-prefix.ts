import { type DynamicModule, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { InvalidOptionsError } from '../errors';
import { type OrderTimeoutExtras } from './order-timeout-options';

/** One or more segments. Parameters and wildcards are left out: our handlers would not read them. */
const PATH = /^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/;

/**
 * What `module` has to import for its routes to begin with `path`.
 *
 * @throws InvalidOptionsError if `path` is not a path, or if there are no routes.
 */
export function routePrefix(
  module: Type,
  { path = '', http = false, operator = false }: OrderTimeoutExtras,
): DynamicModule[] {
  if (path === '') return [];
  const problems = [
    ...(PATH.test(path) ? [] : [`path must be segments such as "shop/v1", not ${JSON.stringify(path)}`]),
    ...(http || operator
      ? []
      : ['path needs http: true or operator: true, because the module has no routes without them']),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('OrderTimeoutModule', problems);
  return [RouterModule.register([{ path, module }])];
}
