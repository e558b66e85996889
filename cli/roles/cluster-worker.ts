import { randomUUID } from 'node:crypto';
import { createClusterReport } from '../../functions/cluster-report.ts';
import { createClusterHandler } from '../../functions/cluster-worker.ts';
import { PROBE_DEADLINE_MS } from '../../functions/probe-cluster.ts';
import type { ClusterDeps } from '../../functions/reconcile-cluster.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import type { ClientObserver } from '../../platform/kube/observe.ts';
import type { ClusterContent } from '../../platform/kube/cluster-secret.ts';
import { readSecret } from '../../platform/kube/secret-api.ts';
import { createClusterLock } from '../../platform/redis/clusters/lock.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { startConsumer, type Consumer } from '../../platform/redis/queue/consumer.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createClusterTransitions } from '../../platform/telemetry/cluster-transitions.ts';
import { traceAdds } from '../../platform/telemetry/tracing/traced-queue.ts';
import { traceRuns } from '../../platform/telemetry/tracing/traced-run.ts';
import { traceLock, traceRequests } from '../../platform/telemetry/tracing/traced-steps.ts';
import { clusterPolicy } from './cluster-policy.ts';
import { countAdds } from './counted-queue.ts';
import type { Runtime } from './runtime.ts';

/** A probe asks ten questions. A connection's start costs more than what it carries here. */
const PROBE_CONNECTIONS = 2;
/** An answer to a question of a probe is short, also that to what is served there. */
const PROBE_ANSWER_BYTES = 1024 * 1024;

export interface ClusterWorker {
  readonly consumer: Consumer;
  stop(): Promise<void>;
}

/**
 * Takes cluster Secrets from their queue and decides about them, until it is stopped.
 *
 * @param serviceRuns how many runs of Service keys this worker has under way: they go first.
 */
export function startClusterWorker(runtime: Runtime, serviceRuns: () => number): ClusterWorker {
  const { config, redisUrl, redis, log, metrics, tracer } = runtime;
  const prefix = config.redisPrefix;
  const opened = openQueue({ name: 'cluster', prefix, log, redis });
  const queue = traceAdds(countAdds(opened, metrics.clusterQueue), 'cluster', tracer);
  const consumer = startConsumer({
    redisUrl,
    prefix,
    name: 'cluster',
    concurrency: config.clusterConcurrency,
    log,
    handle: traceRuns(
      createClusterHandler({
        reconcile: clusterDeps(runtime, queue),
        log,
        metrics: metrics.clusterQueue,
        serviceRuns,
        now: Date.now,
      }),
      'cluster',
      tracer,
    ),
    onInvalid: (id, error) => log.warn({ job: id, field: error.field }, error.message),
  });
  return {
    consumer,
    stop: async () => {
      // A probe that is cut is made anew by another worker; waiting for a silent cluster helps nobody.
      await consumer.drain(0);
      await queue.close();
    },
  };
}

/** What a run of a cluster Secret's key stands on. */
export function clusterDeps(runtime: Runtime, queue: WorkQueue): ClusterDeps {
  const { config, redis, client, events, log, metrics, tracer } = runtime;
  const prefix = config.redisPrefix;
  const registry = createClusterRegistry(redis, prefix);
  const transitions = createClusterTransitions({ redis, prefix, registry, log, events });
  return {
    registry,
    lock: traceLock(createClusterLock(redis, prefix), tracer),
    namespace: config.namespace,
    policy: clusterPolicy(config),
    readSecret: (key, signal) => readSecret(client, key, signal),
    connect: (content) => connect(content, traceRequests(tracer)),
    enqueue: (keys, reason) => {
      const at = Date.now();
      return queue.addEvents(keys.map((key) => ({ key, reason, at })));
    },
    report: createClusterReport({ transitions, events, log, now: Date.now }),
    onProbe: (result) => metrics.cluster.probed(result),
    monotonicMs: () => performance.now(),
    random: Math.random,
    token: randomUUID,
  };
}

function connect({ access, addressRule }: ClusterContent, observe: ClientObserver): KubeClient {
  return createKubeClient(access, {
    observe,
    connections: PROBE_CONNECTIONS,
    timeoutMs: PROBE_DEADLINE_MS,
    maxAnswerBytes: PROBE_ANSWER_BYTES,
    ...(addressRule === undefined ? {} : { addressRule }),
  });
}
