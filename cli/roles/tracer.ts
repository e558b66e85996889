import type { Logger } from '../../core/logger.ts';
import type { Config } from '../../platform/config.ts';
import { traceSettings } from '../../platform/telemetry/tracing/settings.ts';
import type { Tracer } from '../../platform/telemetry/tracing/tracer.ts';

export interface TracerInput {
  readonly config: Config;
  /** As the process was started: `up`, `worker` … */
  readonly role: string;
  /** Unique for this process. */
  readonly id: string;
  readonly log: Logger;
}

/**
 * Where traces go, if anywhere; nobody else loads what they need.
 *
 * @throws InvalidInputError
 */
export async function openTracer({ config, ...rest }: TracerInput): Promise<Tracer | undefined> {
  const settings = traceSettings(config.otelEnv);
  if (settings === undefined) return undefined;
  const tracing = await import('../../platform/telemetry/tracing/open-tracer.ts');
  return tracing.openTracer({ settings, ...rest });
}
