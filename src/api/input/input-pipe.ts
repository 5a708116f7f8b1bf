import { type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { type z } from 'zod';
import { parseInput } from './parse-input';

/** Validates a body, a parameter, or a command, for example `@Body(new InputPipe(schema))`. */
export class InputPipe<T> implements PipeTransform<unknown, T> {
  constructor(private readonly schema: z.ZodType<T>) {}

  transform(value: unknown, { data }: ArgumentMetadata): T {
    return parseInput(this.schema, value, data);
  }
}
