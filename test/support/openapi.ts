import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

const FILE = join(import.meta.dirname, '../../lookup/openapi.json');

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, object>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
}

type Method = 'get' | 'post';

interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** Holds real answers against the description that is served with them. */
export interface AnswerCheck {
  /** Why a body is not what the description says of this path and status; '' when it is. */
  answer(path: string, status: number, body: unknown, method?: Method): string;
  /** The same of an event's data. */
  event(name: string, data: unknown): string;
}

export function createAnswerCheck(): AnswerCheck {
  const description = JSON.parse(readFileSync(FILE, 'utf8')) as Description;
  // `allowUnionTypes`: `type: [integer, null]` is OpenAPI's own way to say so.
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    strictTypes: false,
  });
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'https://tether/', components: description.components });
  const check = (schema: object, value: unknown): string => {
    const resolved = JSON.parse(
      JSON.stringify(schema).replaceAll('"#/components/', '"https://tether/#/components/'),
    ) as object;
    return ajv.validate(resolved, value) ? '' : ajv.errorsText(ajv.errors, { separator: '\n' });
  };
  return {
    answer: (path, status, body, method = 'get') => {
      const { responses } = operationFor(description, path, method);
      const response = responses[String(status)];
      if (response === undefined) return `${path}: status ${status} is not described`;
      const name = response.$ref?.split('/').at(-1);
      const real = name === undefined ? response : description.components.responses[name];
      const schema = (real as Response).content?.['application/json']?.schema;
      return schema === undefined ? `${path}: status ${status} has no body` : check(schema, body);
    },
    event: (name, data) => {
      const schema = `${name.charAt(0).toUpperCase()}${name.slice(1)}Event`;
      return check({ $ref: `#/components/schemas/${schema}` }, data);
    },
  };
}

function operationFor({ paths }: Description, path: string, method: Method): Operation {
  const bare = path.split('?', 1)[0] ?? '';
  for (const [template, operations] of Object.entries(paths)) {
    const pattern = template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.');
    const operation = operations[method];
    if (operation !== undefined && new RegExp(`^${pattern}$`).test(bare)) return operation;
  }
  throw new Error(`${path} is not described`);
}
