import { type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { type z } from 'zod';
import { parseInput } from './parse-input';

/** Checks a body, a path parameter or a command against a schema, for `@Body(new InputPipe(schema))`. */
export class InputPipe<T> implements PipeTransform<unknown, T> {
  constructor(private readonly schema: z.ZodType<T>) {}

  transform(value: unknown, { data }: ArgumentMetadata): T {
    return parseInput(this.schema, value, data);
  }
}
