import { describe, expect, test } from '@jest/globals';
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

describe('linked clusters', () => {
  const idle = () => Promise.resolve(0);
  const fail = (error: unknown): void => {
    throw error;
  };

  test('that can not be started are told of, and can be stopped', async () => {
    const told = Promise.withResolvers<unknown>();
    const failure = new Error('no such thing');
    const start = (): never => {
      throw failure;
    };
    const ready = Promise.resolve();
    const clusters = startAfterLocal({ ready, load: idle, start, onError: told.resolve });
    expect(await told.promise).toBe(failure);
    await clusters.stop();
  });

  test('are started once the served cluster is listed and its burst of keys is over', async () => {
    const seen: string[] = [];
    const ready = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const counts = [500, 100, 8, 7];
    const clusters = startAfterLocal({
      ready: ready.promise,
      load: () => {
        const count = counts.shift() ?? 0;
        seen.push(`${count} keys`);
        return Promise.resolve(count);
      },
      start: () => {
        seen.push('started');
        started.resolve();
        return [];
      },
      onError: fail,
    });
    seen.push('listed');
    ready.resolve();
    await started.promise;
    await clusters.stop();
    expect(seen).toEqual(['listed', '500 keys', '100 keys', '8 keys', '7 keys', 'started']);
  });

  test('are not started any more by a role that stops meanwhile', async () => {
    let started = false;
    const clusters = startAfterLocal({
      ready: new Promise(() => undefined),
      load: () => Promise.resolve(500),
      start: () => {
        started = true;
        return [];
      },
      onError: fail,
    });
    await clusters.stop();
    expect(started).toBe(false);
  });
});
