import { expect, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import type { Config } from '../../platform/config.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { startAfterLocal } from '../../cli/roles/head-start.ts';
import { serveRoles, type Role } from '../../cli/roles/serve.ts';

const role = (stop: () => Promise<void>): Role => ({
  liveness: [],
  readiness: [],
  ready: Promise.resolve(),
  stop,
});

test('a role that fails to stop keeps no other from stopping, and is in the log', async () => {
  const errors: object[] = [];
  const log = {
    ...silentLogger,
    flush: () => undefined,
    error: (fields: object) => void errors.push(fields),
  };
  const stopped: string[] = [];
  const config = { httpHost: '127.0.0.1', httpPort: 0 } as Config;
  const signal = AbortSignal.abort();
  await serveRoles({ config, log, metrics: createMetrics(), signal }, () =>
    Promise.resolve([
      role(() => Promise.reject(new Error('Redis is away'))),
      role(() => Promise.resolve(void stopped.push('second'))),
    ]),
  );
  expect(stopped).toEqual(['second']);
  expect(errors).toEqual([{ error: expect.stringMatching('Redis is away') }]);
});

test('linked clusters that can not be started are told of, and can be stopped', async () => {
  const told = Promise.withResolvers<unknown>();
  const failure = new Error('no such thing');
  const start = (): never => {
    throw failure;
  };
  const clusters = startAfterLocal(Promise.resolve(), start, told.resolve);
  expect(await told.promise).toBe(failure);
  await clusters.stop();
});
