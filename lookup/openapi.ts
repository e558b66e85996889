import { readFile } from 'node:fs/promises';
import { packageFile } from '../platform/package-file.ts';

/** The description of all that is answered, OpenAPI 3.1 as JSON. */
export function openapiText(): Promise<string> {
  return readFile(packageFile('lookup/openapi.json'), 'utf8');
}
