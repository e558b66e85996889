import { isDnsLabel, isDnsSubdomain } from '../core/object-key.ts';
import { quote } from '../core/quote.ts';
import type { Refusal } from './known.ts';

/** What a URL asks for. */
export type Route =
  | { readonly kind: 'clusters' }
  | { readonly kind: 'cluster'; readonly cluster: string }
  | { readonly kind: 'services'; readonly cluster: string; readonly maxAgeMs: number | null }
  | EndpointsRoute
  | { readonly kind: 'openapi' };

export interface EndpointsRoute {
  readonly kind: 'endpoints';
  /** '' for a Service by its local name. */
  readonly cluster: string;
  /** `namespace/name`. */
  readonly key: string;
  /** '' for all. */
  readonly port: string;
  readonly watch: boolean;
  /** Older answers are refused; null: none is too old. */
  readonly maxAgeMs: number | null;
}

export type Parsed =
  { readonly route: Route } | { readonly status: 400 | 404 | 414; readonly refusal: Refusal };

/** Names of a cluster, a namespace, a Service and a port, with room for parameters. */
const LONGEST_URL = 2_048;

/** Takes a request's URL apart. Whatever it is, this gives a route or says what is wrong with it. */
export function parseUrl(url: string): Parsed {
  if (url.length > LONGEST_URL) {
    const error = `the URL has ${url.length} characters: at most ${LONGEST_URL} are taken`;
    return { status: 414, refusal: { code: 'UriTooLong', error } };
  }
  const [path, query] = split(url, '?');
  const segments = path.split('/').map(decode);
  if (segments[0] !== '' || segments[1] !== 'v1') return notFound();
  if (segments.includes(null)) return bad('the path holds a % that is not part of a %XX');
  const parameters = parametersOf(query);
  if (typeof parameters === 'string') return bad(parameters);
  return routeOf(segments.slice(2) as string[], parameters);
}

type Parameters = ReadonlyMap<string, string>;

const ENDPOINTS = ['port', 'watch', 'max-age'];

function routeOf(segments: readonly string[], parameters: Parameters): Parsed {
  const [first, cluster = '', third, ...rest] = segments;
  if (first === 'services') {
    return endpointsRoute('', segments.slice(1), parameters);
  }
  if (first === 'openapi.json' && segments.length === 1) {
    return checked(parameters, [], { kind: 'openapi' });
  }
  if (first !== 'clusters') return notFound();
  if (segments.length === 1) return checked(parameters, [], { kind: 'clusters' });
  if (!isDnsSubdomain(cluster)) return bad(`${quote(cluster)} is not a cluster's name`);
  if (segments.length === 2) return checked(parameters, [], { kind: 'cluster', cluster });
  if (third !== 'services') return notFound();
  if (rest.length > 0) return endpointsRoute(cluster, rest, parameters);
  const maxAgeMs = maxAgeOf(parameters);
  if (typeof maxAgeMs === 'string') return bad(maxAgeMs);
  return checked(parameters, ['max-age'], { kind: 'services', cluster, maxAgeMs });
}

function endpointsRoute(
  cluster: string,
  segments: readonly string[],
  parameters: Parameters,
): Parsed {
  const [namespace = '', name = '', last] = segments;
  if (segments.length !== 3 || last !== 'endpoints') return notFound();
  if (!isDnsLabel(namespace)) return bad(`${quote(namespace)} is not a namespace's name`);
  if (!isDnsSubdomain(name)) return bad(`${quote(name)} is not a Service's name`);
  const key = `${namespace}/${name}`;
  const wanted = wantedOf(parameters);
  if (typeof wanted === 'string') return bad(wanted);
  return checked(parameters, ENDPOINTS, { kind: 'endpoints', cluster, key, ...wanted });
}

function wantedOf(
  parameters: Parameters,
): Pick<EndpointsRoute, 'port' | 'watch' | 'maxAgeMs'> | string {
  const port = parameters.get('port') ?? '';
  if (parameters.has('port') && !isPort(port)) {
    return `port=${quote(port)}: expected a port's name or number`;
  }
  const watch = parameters.get('watch') ?? 'false';
  if (watch !== 'true' && watch !== 'false') {
    return `watch=${quote(watch)}: expected true or false`;
  }
  const maxAgeMs = maxAgeOf(parameters);
  return typeof maxAgeMs === 'string' ? maxAgeMs : { port, watch: watch === 'true', maxAgeMs };
}

function checked(parameters: Parameters, allowed: readonly string[], route: Route): Parsed {
  const unknown = [...parameters.keys()].find((name) => !allowed.includes(name));
  if (unknown === undefined) return { route };
  const known = allowed.length === 0 ? 'there are none here' : `there is ${allowed.join(', ')}`;
  return bad(`unknown parameter ${quote(unknown)}: ${known}`);
}

/** A sentence when there is something wrong with the text. */
function parametersOf(query: string): Parameters | string {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (parameters.has(name)) return `parameter ${quote(name)} is given twice`;
    parameters.set(name, value);
  }
  return parameters;
}

function isPort(text: string): boolean {
  return /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text);
}

function maxAgeOf(parameters: Parameters): number | null | string {
  const text = parameters.get('max-age');
  if (text === undefined) return null;
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Math.round(Number(text) * 1000);
  return `max-age=${quote(text)}: expected seconds, such as 30 or 0.5`;
}

function split(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}

function decode(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function bad(error: string): Parsed {
  return { status: 400, refusal: { code: 'BadRequest', error } };
}

function notFound(): Parsed {
  const error = 'there is nothing here: GET /v1/openapi.json says what there is';
  return { status: 404, refusal: { code: 'PathNotFound', error } };
}
