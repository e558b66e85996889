import { InvalidInputError } from '../../core/errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Reads typed fields; messages name the path of a field, never its value. */
export interface FieldReader {
  readonly source: string;
  text(at: string, fields: Fields, field: string): string | undefined;
  flag(at: string, fields: Fields, field: string): boolean;
  fields(at: string, fields: Fields, field: string): Fields | undefined;
}

/** A reader whose messages begin with `source`. */
export function fieldReader(source: string): FieldReader {
  const wrong = (at: string, field: string, kind: string): InvalidInputError => {
    const path = at === '' ? field : `${at}.${field}`;
    return invalid(source, path, `${path} must be ${kind}`);
  };
  return {
    source,
    text(at, fields, field) {
      const value = fields[field];
      if (value === undefined || value === null || value === '') return undefined;
      if (typeof value !== 'string') throw wrong(at, field, 'a text (put it in quotes)');
      return value;
    },
    flag(at, fields, field) {
      const value = fields[field] ?? false;
      if (typeof value !== 'boolean') throw wrong(at, field, 'true or false');
      return value;
    },
    fields(at, fields, field) {
      const value = fields[field];
      if (value === undefined || value === null) return undefined;
      if (!isFields(value)) throw wrong(at, field, 'a mapping');
      return value;
    },
  };
}

/** An error about a field of `source`, such as `kubeconfig /path`. */
export function invalid(source: string, field: string, message: string): InvalidInputError {
  return new InvalidInputError(field, `${source}: ${message}`);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
