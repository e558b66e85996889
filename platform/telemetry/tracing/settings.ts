import { InvalidInputError } from '../../../core/errors.ts';

/** The variables of OpenTelemetry that decide whether and how much is traced; the exporter reads the rest. */
export const OTEL_VARIABLES = [
  'OTEL_SDK_DISABLED',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
] as const;

export type OtelVariable = (typeof OTEL_VARIABLES)[number];
export type OtelEnv = Readonly<Partial<Record<OtelVariable, string>>>;

/** Which traces are recorded. */
export interface Sampling {
  /** The share of them, from 0 to 1. */
  readonly ratio: number;
  /** Whether a job's trace goes on if it was begun to be recorded, and only then. */
  readonly parentBased: boolean;
}

export interface TraceSettings {
  readonly sampling: Sampling;
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampling>> = {
  always_on: () => ({ ratio: 1, parentBased: false }),
  always_off: () => ({ ratio: 0, parentBased: false }),
  traceidratio: (ratio) => ({ ratio, parentBased: false }),
  parentbased_always_on: () => ({ ratio: 1, parentBased: true }),
  parentbased_always_off: () => ({ ratio: 0, parentBased: true }),
  parentbased_traceidratio: (ratio) => ({ ratio, parentBased: true }),
};
const DEFAULT_SAMPLER = 'parentbased_always_on';

/**
 * Whether there are to be traces, by OpenTelemetry's own variables: an endpoint turns them on, and so does
 * `OTEL_TRACES_EXPORTER=otlp`. Gives undefined where they are off. An empty variable counts as absent.
 *
 * @throws InvalidInputError for a value that would make traces go nowhere; `field` is the variable.
 */
export function traceSettings(env: OtelEnv): TraceSettings | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim() || undefined;
  if (exporter === 'none') return undefined;
  const endpoints = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
  const named = endpoints.filter((name) => env[name]?.trim());
  if (exporter === undefined && named.length === 0) return undefined;
  if (exporter !== undefined && exporter !== 'otlp') {
    throw wrong(env, 'OTEL_TRACES_EXPORTER', 'otlp or none');
  }
  for (const name of named) if (!isHttpUrl(env[name])) throw wrong(env, name, HTTP_URL);
  checkProtocol(env);
  return { sampling: samplingOf(env) };
}

const HTTP_URL = 'an http:// or https:// URL, such as http://collector:4318';

function isHttpUrl(text = ''): boolean {
  return /^https?:\/\//.test(text.trim()) && URL.canParse(text.trim());
}

/** JSON is sent; a receiver that takes OTLP over HTTP takes it on the same path as protobuf. */
function checkProtocol(env: OtelEnv): void {
  const specific = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim();
  const name = specific ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL' : 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const protocol = env[name]?.trim() || 'http/json';
  if (protocol.startsWith('http/')) return;
  throw wrong(
    env,
    name,
    'http/json or http/protobuf (4318 is the port that collectors have for it)',
  );
}

function samplingOf(env: OtelEnv): Sampling {
  const make = SAMPLERS[env.OTEL_TRACES_SAMPLER?.trim() || DEFAULT_SAMPLER];
  if (make === undefined) {
    throw wrong(env, 'OTEL_TRACES_SAMPLER', `one of ${Object.keys(SAMPLERS).join(', ')}`);
  }
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG?.trim() || '1');
  if (!(ratio >= 0 && ratio <= 1)) {
    throw wrong(env, 'OTEL_TRACES_SAMPLER_ARG', 'a share from 0 to 1, such as 0.1');
  }
  return make(ratio);
}

/** A URL may hold a password, so no endpoint is quoted. */
function wrong(env: OtelEnv, name: OtelVariable, expected: string): InvalidInputError {
  const value = name.endsWith('ENDPOINT') ? '(not shown)' : JSON.stringify(env[name]?.slice(0, 80));
  return new InvalidInputError(name, `${name} ${value}: expected ${expected}`);
}
