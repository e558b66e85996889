import { parseCidr, type Cidr } from '../../core/cidr.ts';
import { KUBERNETES_MANAGERS } from '../../core/managers.ts';
import { isDnsLabel } from '../../core/object-key.ts';

/*
 * Each parser turns the text of an option into its value, or says in a few words what it wants
 * instead; `config.ts` puts the option's name and the text in front. Hand-written: importing a schema
 * library costs more than the whole start otherwise takes.
 */

/** The value, or what was expected of the text. */
export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly expected: string };

export type Parser<T> = (text: string) => Parsed<T>;

function good<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

function bad(expected: string): { readonly ok: false; readonly expected: string } {
  return { ok: false, expected };
}

/** A whole number within limits, both included. */
export function wholeNumber(min: number, max: number, unit = ''): Parser<number> {
  const expected = `a whole number from ${min} to ${max}${unit === '' ? '' : ` (${unit})`}`;
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? good(value) : bad(expected);
  };
}

/** Seconds, fractions allowed; the value is in milliseconds. */
export function seconds(min: number, max: number): Parser<number> {
  return (text) => {
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return good(Math.round(value * 1000));
    return bad(`seconds from ${min} to ${max}, without a unit`);
  };
}

/** One of a few words. */
export function oneOf<const T extends string>(...words: readonly T[]): Parser<T> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? bad(`one of ${words.join(', ')}`) : good(value);
  };
}

export const namespaceName: Parser<string> = (text) =>
  isDnsLabel(text) ? good(text) : bad('the name of a namespace (lower case, digits and "-")');

/** `a,b`; nothing at all is an empty list. */
export const namespaceList: Parser<readonly string[]> = (text) => {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const wrong = names.find((name) => !isDnsLabel(name));
  if (wrong === undefined) return good([...new Set(names)].sort());
  return bad(`names of namespaces with commas between (${JSON.stringify(wrong)} is none)`);
};

/** What a label may have for a value: the manager's name ends up in one. */
export const labelValue: Parser<string> = (text) =>
  /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text)
    ? good(text)
    : bad(
        'a label value: up to 63 letters, digits, "-", "_" or ".", a letter or digit at both ends',
      );

/** `a,b`: names of managers whose slices may be taken over; nothing at all is an empty list. */
export const managerList: Parser<readonly string[]> = (text) => {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const kubernetes = names.find((name) => KUBERNETES_MANAGERS.includes(name));
  if (kubernetes !== undefined) {
    return bad(
      `managers that have stopped (${kubernetes} is Kubernetes' own, and goes on writing)`,
    );
  }
  const wrong = names.find((name) => !labelValue(name).ok);
  if (wrong === undefined) return good([...new Set(names)].sort());
  return bad(`names of managers with commas between (${JSON.stringify(wrong)} is none)`);
};

/** Braces and colons have a meaning in the names of Redis keys. */
export const keyPrefix: Parser<string> = (text) =>
  /^[A-Za-z0-9_.-]{1,64}$/.test(text)
    ? good(text)
    : bad('up to 64 letters, digits, "-", "_" or "."');

export const hostName: Parser<string> = (text) =>
  text === '*' || /^[A-Za-z0-9.:-]{1,253}$/.test(text)
    ? good(text)
    : bad('an IP address or a host name, or "*" for every address');

export const yesOrNo: Parser<boolean> = (text) =>
  text === 'true' || text === 'false' ? good(text === 'true') : bad('true or false');

/** `a.example,*.b.example`, or addresses; nothing at all is an empty list. */
export const hostList: Parser<readonly string[]> = (text) => {
  const hosts = text
    .split(',')
    .map((host) => host.trim().toLowerCase())
    .filter((host) => host !== '');
  const wrong = hosts.find((host) => !/^(\*\.)?[a-z0-9.:-]{1,253}$/.test(host));
  if (wrong === undefined) return good([...new Set(hosts)].sort());
  return bad(`host names or addresses with commas between (${JSON.stringify(wrong)} is none)`);
};

/** `10.0.0.0/8,fd00::/8`; nothing at all is an empty list. */
export const cidrList: Parser<readonly Cidr[]> = (text) => {
  const ranges: Cidr[] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    if (part === '') continue;
    const range = parseCidr(part);
    if (range === null) {
      const wrong = JSON.stringify(part);
      return bad(`ranges such as 10.0.0.0/8,fd00::/8 (${wrong} is none: no bit after the prefix)`);
    }
    ranges.push(range);
  }
  return good(ranges);
};

export const hostAndPort: Parser<{ readonly host: string; readonly port: number }> = (text) => {
  const colon = text.lastIndexOf(':');
  const host = hostName(text.slice(0, Math.max(colon, 0)).replace(/^\[(.*)\]$/, '$1'));
  const port = wholeNumber(0, 65_535)(text.slice(colon + 1));
  if (host.ok && port.ok) return good({ host: host.value, port: port.value });
  return bad('HOST:PORT, such as 127.0.0.1:8080 or *:8080');
};

export const anyText: Parser<string> = (text) => good(text);
