import type { Parser } from './parse.ts';

/** One option: a flag, and the TETHER_* variable that does the same. */
export interface OptionSpec<T> {
  /** Without the dashes. */
  readonly flag: string;
  readonly env: string;
  /** What the help calls the value. */
  readonly value: string;
  /** As text, so that it is checked like any other; null: no value unless given. */
  readonly byDefault: string | null;
  readonly parse: Parser<T>;
  readonly help: string;
  /** The value may hold a password: never repeated in a message. */
  readonly secret?: boolean;
}

/** An option that always has a value. */
type WithDefault<T> = OptionSpec<T> & { readonly byDefault: string };
/** An option that has a value only when it is given. */
type Optional<T> = OptionSpec<T> & { readonly byDefault: null };

export const withDefault = <T>(
  flag: string,
  byDefault: string,
  value: string,
  parse: Parser<T>,
  help: string,
): WithDefault<T> => ({ flag, env: envOf(flag), value, byDefault, parse, help });

export const optional = <T>(
  flag: string,
  value: string,
  parse: Parser<T>,
  help: string,
): Optional<T> => ({
  flag,
  env: envOf(flag),
  value,
  byDefault: null,
  parse,
  help,
});

function envOf(flag: string): string {
  return `TETHER_${flag.toUpperCase().replaceAll('-', '_')}`;
}
