import type { QueueName } from '../../core/job.ts';
import { resolveRedisUrl, type Config } from '../../platform/config.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import {
  loadKubeConfig,
  type KubeAccess,
  type LoadKubeConfigOptions,
} from '../../platform/kube/kubeconfig.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';

/** Where the configuration says that the API server is. */
export function kubeOptions({ kubeconfig, context, kubeEnv }: Config): LoadKubeConfigOptions {
  return {
    ...(kubeconfig === undefined ? {} : { path: kubeconfig }),
    ...(context === undefined ? {} : { context }),
    env: kubeEnv,
  };
}

/** A client of the configured API server, for as long as `use` takes. */
export async function withKube<T>(
  config: Config,
  use: (client: KubeClient) => Promise<T>,
): Promise<T> {
  return withClient(config, await loadKubeConfig(kubeOptions(config)), use);
}

/** A client of any API server, for as long as `use` takes. */
export async function withClient<T>(
  config: Config,
  access: KubeAccess,
  use: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const client = createKubeClient(access, { timeoutMs: config.requestTimeoutMs });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** A queue of the configured Redis, for as long as `use` takes. */
export async function withQueue<T>(
  config: Config,
  name: QueueName,
  use: (queue: WorkQueue) => Promise<T>,
): Promise<T> {
  const { logLevel: level, logFormat: format, colour } = config;
  const log = await createLogger({ level, format, colour, fd: 2 });
  const redis = connectRedis(resolveRedisUrl(config), 'producer', { log });
  try {
    await checkRedis(redis, { log });
    const queue = openQueue({ name, prefix: config.redisPrefix, log, redis });
    return await use(queue).finally(() => queue.close());
  } finally {
    redis.disconnect();
  }
}
