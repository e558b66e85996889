import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidInputError, TetherError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import type { OptionSpec } from './config/option-spec.ts';
import { OPTIONS, type OptionName } from './config/options.ts';
import { redisAddress, redisConflict } from './config/redis-options.ts';
import type { RedisAddress } from './redis/address.ts';
import { OTEL_VARIABLES, type OtelEnv } from './telemetry/tracing/settings.ts';

/*
 * The only reader of the environment. Options go through three steps: given (a flag, else a TETHER_*
 * variable), defaulted, checked; after that the rest of the program sees a typed `Config` alone.
 */

type Environment = Readonly<Record<string, string | undefined>>;

type ValueOf<S> = S extends { readonly parse: (text: string) => infer R }
  ? Extract<R, { readonly ok: true }> extends { readonly value: infer T }
    ? T
    : never
  : never;

type Options = typeof OPTIONS;

type Checked = {
  readonly [K in OptionName]: Options[K] extends { readonly byDefault: string }
    ? ValueOf<Options[K]>
    : ValueOf<Options[K]> | undefined;
};

/** Everything that was configured, checked. Times are in milliseconds. */
export interface Config extends Omit<Checked, 'httpHost' | 'functionAddr'> {
  /** '*' stands for every address. */
  readonly httpHost: string;
  readonly functionAddr: { readonly host: string; readonly port: number };
  /** What says where the API server is, unless --kubeconfig does; for `loadKubeConfig`. */
  readonly kubeEnv: {
    readonly KUBECONFIG?: string | undefined;
    readonly HOME?: string | undefined;
    readonly KUBERNETES_SERVICE_HOST?: string | undefined;
    readonly KUBERNETES_SERVICE_PORT?: string | undefined;
  };
  /** What says whether there are traces; for `traceSettings`. */
  readonly otelEnv: OtelEnv;
  /** Whether log lines and output may be coloured (https://no-color.org). */
  readonly colour: boolean;
}

/** Flags as they were given, by option. */
export type GivenFlags = Readonly<Partial<Record<OptionName, string>>>;

/** No Redis is configured; the message says how to name one. */
export class NoRedisError extends TetherError {
  readonly code = 'NoRedis';
  constructor() {
    super(
      `no Redis is configured: give --redis-url or set ${OPTIONS.redisUrl.env}, or run this where ` +
        '`tether up` runs (it records the URL of its private Redis in .tether/redis-url)',
    );
    this.name = 'NoRedisError';
  }
}

const NAMES = Object.keys(OPTIONS) as OptionName[];

/** Where `tether up` records the URL of a Redis that it started. */
export function redisUrlFile(cwd: string = process.cwd()): string {
  return join(cwd, '.tether', 'redis-url');
}

/**
 * Reads the configuration once, at start. An empty variable counts as absent.
 *
 * @throws InvalidInputError with a line for each option that is wrong; `field` is the first one's flag.
 */
export function readConfig(flags: GivenFlags, env: Environment = process.env): Config {
  const problems: { readonly flag: string; readonly line: string }[] = [];
  const checked: Partial<Record<OptionName, unknown>> = {};
  for (const name of NAMES) {
    const option: OptionSpec<unknown> = OPTIONS[name];
    const given = givenFor(option, flags[name], env);
    const text = given?.text ?? option.byDefault;
    if (text === null) continue;
    const parsed = option.parse(text);
    if (parsed.ok) checked[name] = parsed.value;
    else problems.push({ flag: option.flag, line: complain(option, text, given, parsed.expected) });
  }
  const [first] = problems;
  if (first) {
    throw new InvalidInputError(first.flag, problems.map(({ line }) => line).join('\n'));
  }
  return complete(checked as Checked, env);
}

/** Where the Redis to use is: as configured, else the private one of a `tether up` in this folder. */
export function resolveRedisUrl(config: Config, cwd: string = process.cwd()): RedisAddress {
  if (config.redisUrl !== undefined) return redisAddress(config.redisUrl, config);
  let recorded: string;
  try {
    recorded = readFileSync(redisUrlFile(cwd), 'utf8').trim();
  } catch {
    throw new NoRedisError();
  }
  const parsed = OPTIONS.redisUrl.parse(recorded);
  if (parsed.ok) return parsed.value;
  throw new InvalidInputError(
    'redis-url',
    `${redisUrlFile(cwd)} does not hold a Redis URL: delete it, or give --redis-url`,
  );
}

/** What the help shows for an option: `--http-port <PORT>` and its sentence. */
export function helpFor(name: OptionName): { readonly flags: string; readonly help: string } {
  const option: OptionSpec<unknown> = OPTIONS[name];
  const fallback = option.byDefault ? `; default ${option.byDefault}` : '';
  return {
    flags: `--${option.flag} <${option.value}>`,
    help: `${option.help} [${option.env}${fallback}]`,
  };
}

interface Given {
  readonly text: string;
  /** `--http-port` or `TETHER_HTTP_PORT`. */
  readonly source: string;
}

function givenFor(
  option: OptionSpec<unknown>,
  flag: string | undefined,
  env: Environment,
): Given | undefined {
  if (flag !== undefined) return { text: flag, source: `--${option.flag}` };
  const variable = env[option.env];
  if (variable === undefined || variable === '') return undefined;
  return { text: variable, source: option.env };
}

function complain(
  option: OptionSpec<unknown>,
  text: string,
  given: Given | undefined,
  expected: string,
): string {
  const source = given?.source ?? `--${option.flag}`;
  const shown = option.secret ? '(not shown)' : quote(text);
  const line = `${source} ${shown}: expected ${expected}`;
  // Kubernetes sets such variables for a Service called tether-http in the pod's own namespace.
  if (source !== option.env || !/^(tcp|udp|sctp):\/\//.test(text)) return line;
  return `${line}. Kubernetes set this variable for a Service: say enableServiceLinks: false in the pod`;
}

/**
 * `PORT` is what platforms for functions set (Knative, Cloud Run), and many a shell for something else:
 * a text that is no port is nobody's mistake.
 */
function addrOf(port = ''): Config['functionAddr'] {
  const parsed = OPTIONS.functionAddr.parse(`*:${port}`);
  return parsed.ok && parsed.value.port > 0 ? parsed.value : { host: '127.0.0.1', port: 0 };
}

function complete(checked: Checked, env: Environment): Config {
  if (checked.adopt.includes(checked.manager)) {
    throw new InvalidInputError(
      'adopt',
      `--adopt ${quote(checked.manager)}: that is --manager, whose slices are ours already`,
    );
  }
  const inCluster = Boolean(env['KUBERNETES_SERVICE_HOST']);
  const conflict = redisConflict(checked);
  if (conflict !== undefined) throw new InvalidInputError(conflict.flag, conflict.line);
  const clash = checked.includeNamespaces.find((name) => checked.excludeNamespaces.includes(name));
  if (clash !== undefined) {
    throw new InvalidInputError(
      'exclude-namespaces',
      `--exclude-namespaces ${quote(clash)}: --namespaces names it too; leave it out of one of them`,
    );
  }
  return {
    ...checked,
    // Probes come from outside of the pod; elsewhere nobody asked to be reachable.
    httpHost: checked.httpHost ?? (inCluster ? '*' : '127.0.0.1'),
    functionAddr: checked.functionAddr ?? addrOf(env['PORT']),
    kubeEnv: {
      KUBECONFIG: env['KUBECONFIG'],
      HOME: env['HOME'],
      KUBERNETES_SERVICE_HOST: env['KUBERNETES_SERVICE_HOST'],
      KUBERNETES_SERVICE_PORT: env['KUBERNETES_SERVICE_PORT'],
    },
    otelEnv: Object.fromEntries(
      OTEL_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    ),
    colour: !env['NO_COLOR'],
  };
}
