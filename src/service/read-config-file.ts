import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidOptionsError } from '../errors';
import { parseConfigJson } from './parse-config-json';

/** A value with this prefix is read from a file. Its path is relative to the JSON file. */
const FROM_FILE = 'file:';

/**
 * Reads a JSON file that a variable names.
 *
 * @throws InvalidOptionsError without what the file holds, which may be a key.
 */
export function readConfigFile(variable: string, path: string): unknown {
  try {
    return parseConfigJson(readFileSync(path, 'utf8'));
  } catch (error) {
    // The parser quotes the text that it cannot read.
    const why =
      error instanceof SyntaxError ? 'it is not valid JSON' : error instanceof Error ? error.message : String(error);
    throw new InvalidOptionsError(variable, [`${path}: ${why}`]);
  }
}

/** The value with each text such as `file:keys/own.pem` replaced by what that file holds. @param path of the JSON file */
export function withFiles(value: unknown, path: string): unknown {
  if (typeof value === 'string' && value.startsWith(FROM_FILE)) {
    return readFileSync(resolve(dirname(path), value.slice(FROM_FILE.length)), 'utf8').trim();
  }
  if (Array.isArray(value)) return value.map((part) => withFiles(part, path));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withFiles(part, path)]));
}
