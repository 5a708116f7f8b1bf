import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** Validators of the schemas of one document, by their JSON pointer such as `#/components/schemas/Order`. */
export class Validator {
  private readonly ajv: Ajv;

  /** @param document its `components.schemas` are validated by; their objects take no undocumented member */
  constructor(document: object, dialect: 'draft-2020-12' | 'draft-07') {
    // `strict` would refuse keywords of OpenAPI.
    const options = { strict: false, allErrors: true };
    this.ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options);
    addFormats(this.ajv);
    this.ajv.addSchema(closed(document) as object, 'document');
  }

  /** What is wrong with the value, as sentences. */
  problems(pointer: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(`document${pointer}`) as ValidateFunction | undefined;
    if (!validate) throw new Error(`the document has no schema ${pointer}`);
    return validate(value) ? [] : (validate.errors ?? []).map(sentence);
  }
}

function sentence({ instancePath, message = 'is invalid', params }: ErrorObject): string {
  return `${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`;
}

/**
 * The document with objects that take no other members. Clients must ignore unknown ones, so the document allows them,
 * but a member that the service sends and the document does not have is a mistake.
 */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isObject = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy);
  return isObject ? { ...copy, additionalProperties: false } : copy;
}
