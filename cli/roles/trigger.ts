import type { RedisClient } from '../../platform/redis/client.ts';
import { createGate } from '../../platform/http/bearer-gate.ts';
import type { HttpHandler } from '../../platform/http/exchange.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import { createTrigger } from '../../trigger/trigger.ts';
import type { Serving } from './serve.ts';

export interface TriggerRuntime extends Serving {
  readonly redis: RedisClient;
}

/** Takes requests for a reconcile. */
export interface RunningTrigger {
  readonly handle: HttpHandler;
  /** Reads the token's file again; to be called each second. */
  tick(): void;
  stop(): Promise<void>;
}

/** @throws InvalidInputError when the token is given twice, or its file holds none. */
export function startTrigger({ config, redis, log, metrics }: TriggerRuntime): RunningTrigger {
  const { triggerToken: token, triggerTokenFile: tokenFile, redisPrefix: prefix } = config;
  const gate = createGate({ flag: 'trigger-token', token, tokenFile }, log);
  const queues = {
    service: openQueue({ name: 'service', prefix, log, redis }),
    cluster: openQueue({ name: 'cluster', prefix, log, redis }),
  };
  const stopping = new AbortController();
  const { answered } = metrics.trigger;
  return {
    handle: createTrigger({ queues, gate, log, answered, stopping: stopping.signal }),
    tick: gate.tick,
    stop: async () => {
      stopping.abort();
      await Promise.all([queues.service.close(), queues.cluster.close()]);
    },
  };
}
