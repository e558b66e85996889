import { describeError } from '../core/errors.ts';
import { createLambdaHandler, type LambdaFunction } from '../functions/lambda.ts';
import { readConfig, resolveRedisUrl } from '../platform/config.ts';
import { openFunction } from './roles/function-role.ts';
import { runRoles, type Role, type Runtime } from './roles/runtime.ts';
import { wakeRedis } from './roles/wake-redis.ts';

/*
 * What AWS Lambda imports: `dist/lambda.handler`. A composition root like a command, but that nobody
 * tells it to stop: the platform freezes the process between invocations, and ends it when it likes.
 * Configuration comes from TETHER_* variables.
 */

interface Opened extends LambdaFunction {
  readonly runtime: Runtime;
}

let opened: Promise<Opened> | undefined;

/**
 * An invocation; connections and all else are kept for the next one.
 *
 * @throws what keeps the function from being started, such as a wrong variable; the next invocation
 * tries again.
 */
export const handler = createLambdaHandler(async () => {
  opened ??= open();
  opened.catch(() => (opened = undefined));
  const found = await opened;
  await wakeRedis(found.runtime);
  return found;
});

function open(): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const start = async (runtime: Runtime): Promise<readonly Role[]> => {
      const { runner, gate, http, liveness, stop } = await openFunction(runtime);
      resolve({ runtime, runner, http: gate.guarded ? http : null });
      return [{ liveness, readiness: [], ready: Promise.resolve(), stop }];
    };
    // Runs for as long as the process does.
    runLambda(start).catch((error: unknown) => reject(new Error(describeError(error))));
  });
}

async function runLambda(start: (runtime: Runtime) => Promise<readonly Role[]>): Promise<void> {
  const config = readConfig({});
  const { signal } = new AbortController();
  const redisUrl = resolveRedisUrl(config);
  await runRoles({ name: 'lambda', config, redisUrl, signal, start });
}
