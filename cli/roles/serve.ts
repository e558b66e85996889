import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Config } from '../../platform/config.ts';
import type { Check } from '../../platform/telemetry/health.ts';
import type { OwnedLogger } from '../../platform/telemetry/logger.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';

/** A role of a process, running. */
export interface Role {
  readonly liveness: readonly Check[];
  readonly readiness: readonly Check[];
  /** Resolves when the role does its work. */
  readonly ready: Promise<void>;
  /** Of a role that may fail once it was started: rejects then, and never resolves. */
  readonly failed?: Promise<never>;
  stop(): Promise<void>;
}

/** What a process needs to tell how its roles are. */
export interface Serving {
  readonly config: Config;
  readonly log: OwnedLogger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

/** Starts the roles, serves health and metrics until the signal, then stops them in their order. */
export async function serveRoles(
  { config, log, metrics, signal }: Serving,
  start: () => Promise<readonly Role[]>,
): Promise<void> {
  const roles = await start();
  try {
    // Not needed for work to begin, and node:http takes a while to load.
    const { startHttpServer } = await import('../../platform/telemetry/http-server.ts');
    const liveness = roles.flatMap((role) => role.liveness);
    const readiness = roles.flatMap((role) => role.readiness);
    const { httpHost: host, httpPort: port } = config;
    const server = await startHttpServer({ host, port, liveness, readiness, metrics, log });
    try {
      const ready = Promise.all(roles.map((role) => role.ready));
      // That one failed is what the next line throws.
      ready.then(() => log.info({}, 'ready')).catch(() => undefined);
      await Promise.race([aborted(signal), ...roles.flatMap(({ failed }) => failed ?? [])]);
      log.info({}, 'stopping');
    } finally {
      await server.close();
    }
  } finally {
    for (const role of roles) await stopOf(role, log);
  }
}

/** A role that does not end well keeps no other from ending. */
async function stopOf(role: Role, log: Logger): Promise<void> {
  try {
    await role.stop();
  } catch (error) {
    log.error({ error: describeError(error) }, 'a role of this process was not stopped properly');
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
