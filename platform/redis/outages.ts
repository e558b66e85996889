import type { Cluster, Redis } from 'ioredis';
import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { addressOf } from './client.ts';
import { followMasters } from './cluster-client.ts';

/** Whom to tell what of a connection. */
export interface Watched {
  /** Where it goes, for people. */
  readonly where: string;
  readonly role: string;
  readonly log: Logger;
  readonly onReconnect?: () => void;
}

/** A Redis that is away is mentioned this often, not at every attempt. */
const COMPLAIN_EVERY_MS = 10_000;

/** Tells that a server is away, and that it is back. ioredis without a listener prints every failed attempt. */
export function watchServer(redis: Redis, { where, role, log, onReconnect }: Watched): void {
  const complaints = complainer(where, role, log);
  let wasReady = false;
  let lostAt: number | undefined;
  let toldAt = -Infinity;
  redis.on('error', complaints.add);
  redis.on('sentinelError', complaints.add);
  redis.on('close', () => (lostAt ??= performance.now()));
  redis.on('ready', () => {
    const now = performance.now();
    const awayMs = lostAt === undefined ? 0 : Math.round(now - lostAt);
    lostAt = undefined;
    const wasTold = complaints.over();
    // One that is connected to again and again, such as a replica that refuses each write, is always back.
    if (wasReady && (wasTold || now - toldAt >= COMPLAIN_EVERY_MS)) {
      toldAt = now;
      log.info(
        { redis: where, connection: role, awayMs },
        `Redis at ${where} is back after ${awayMs} ms`,
      );
    }
    if (wasReady) onReconnect?.();
    wasReady = true;
  });
}

/**
 * The same of a Cluster: what counts is each master. One that is connected to anew may have lost its data,
 * and one that has become a master may never have had the last of it.
 */
export function watchCluster(cluster: Cluster, { where, role, log, onReconnect }: Watched): void {
  const complaints = complainer(where, role, log);
  cluster.on('error', complaints.add);
  cluster.on('node error', complaints.add);
  followMasters(cluster, (masters) => {
    complaints.over();
    const names = masters.map(addressOf).join(', ');
    log.info(
      { redis: where, connection: role, masters: names },
      `Redis at ${where}: another connection to a master, or another master (${names})`,
    );
    onReconnect?.();
  });
}

interface Complainer {
  readonly add: (error: unknown) => void;
  /** It is there again; gives whether anybody was told that it was not. */
  readonly over: () => boolean;
}

function complainer(where: string, role: string, log: Logger): Complainer {
  let complainedAt = -Infinity;
  return {
    add: (error) => {
      const now = performance.now();
      if (now - complainedAt < COMPLAIN_EVERY_MS) return;
      complainedAt = now;
      log.warn(
        { redis: where, connection: role },
        `Redis at ${where}: ${describeError(error)}; trying again`,
      );
    },
    over: () => {
      const complained = complainedAt !== -Infinity;
      complainedAt = -Infinity;
      return complained;
    },
  };
}
