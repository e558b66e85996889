import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../core/logger.ts';
import type { Gate } from '../http/bearer-gate.ts';

export interface GuardOptions {
  readonly gate: Gate;
  readonly writable: boolean;
  /** Whether the queue can be asked now. */
  readonly isReady: () => boolean;
  readonly log: Logger;
}

/** Why a request gets no further. */
interface Refusal {
  readonly status: number;
  readonly error: string;
}

/**
 * What may be done to jobs, as Bull Board words its routes: what costs at most a run too many. It could
 * also pause a queue, empty it, or change what is in it; a removed job takes the stored event of its key
 * along (docs/queue.md), so that a change would go unseen.
 */
const ACTIONS: ReadonlySet<string> = new Set([
  '/api/queues/:queueName/retry/:queueStatus',
  '/api/queues/:queueName/promote',
  '/api/queues/:queueName/:jobId/retry',
  '/api/queues/:queueName/:jobId/promote',
]);

/**
 * What is shown: queues, and jobs as far as shown-data.ts lets their data through. Bull Board also shows
 * schedulers with the jobs that they would make, and logs of jobs; both as they are, and Tether has neither.
 */
const READS: ReadonlySet<string> = new Set([
  '/api/redis/stats',
  '/api/queues',
  '/api/queues/:queueName/metrics',
  '/api/queues/:queueName/default-job-options',
  '/api/queues/:queueName/workers',
  '/api/queues/:queueName/rate-limit',
  '/api/queues/:queueName/job-data-schema',
  '/api/queues/:queueName/:jobId',
  '/api/queues/:queueName/:jobId/flow',
]);

/**
 * Everything comes from the board itself: it works without the internet, and a script that somebody
 * smuggled into a job runs nowhere. Its libraries set styles by script.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const COMPLAIN_EVERY_MS = 10_000;

/** Lets nobody in without the password; lets nothing be seen or changed that is not meant to be. */
export function guard(app: FastifyInstance, options: GuardOptions): void {
  const wrongPassword = sometimes(COMPLAIN_EVERY_MS, () =>
    options.log.warn({}, 'somebody gave the board a wrong password'),
  );
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers(HEADERS);
    if (!options.gate.admits(request.headers.authorization)) {
      if (request.headers.authorization !== undefined) wrongPassword();
      void reply.header('www-authenticate', 'Basic realm="Tether", charset="UTF-8"');
      return refuse(reply, {
        status: 401,
        error: 'the user is tether, the password that of --board-password',
      });
    }
    const refusal = refusalOf(request, options);
    return refusal === null ? undefined : refuse(reply, refusal);
  });
  app.addHook('onSend', async (_request, reply, payload) => {
    const type = String(reply.getHeader('content-type') ?? '');
    const isPage = typeof payload === 'string' && type.startsWith('text/html');
    return isPage ? withoutForeignLinks(payload) : payload;
  });
}

/** Leaves out what a page would fetch from elsewhere: fonts, which it does without. */
function withoutForeignLinks(page: string): string {
  return page.replaceAll(/<link\b[^>]*\bhref="https?:[^>]*>\s*/g, '');
}

function refuse(reply: FastifyReply, { status, error }: Refusal): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').send({ error });
}

function refusalOf(request: FastifyRequest, { writable, isReady }: GuardOptions): Refusal | null {
  const route = request.routeOptions.url ?? '';
  const changes = request.method !== 'GET' && request.method !== 'HEAD';
  const refused = changes ? changeRefusal(request, route, writable) : readRefusal(route);
  if (refused !== null) return refused;
  // BullMQ would wait for the first connection for ever.
  if (!route.startsWith('/api/') || isReady()) return null;
  return { status: 503, error: 'Redis does not answer' };
}

function readRefusal(route: string): Refusal | null {
  if (!route.startsWith('/api/') || READS.has(route)) return null;
  return { status: 403, error: 'this board shows queues and their jobs, and nothing else' };
}

function changeRefusal(
  { method, headers }: FastifyRequest,
  route: string,
  writable: boolean,
): Refusal | null {
  if (!writable) {
    return {
      status: 405,
      error: 'this board changes nothing; --board-writable true lets it retry',
    };
  }
  if (method !== 'PUT' || !ACTIONS.has(route)) {
    return { status: 405, error: 'this board retries and promotes jobs, and changes nothing else' };
  }
  // A browser says where a request comes from; a page of somebody else's may not act with its password.
  if ((headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin') return null;
  return { status: 403, error: 'this came from another page than the board' };
}

/** Calls `action` unless it was called within the last `everyMs`. */
function sometimes(everyMs: number, action: () => void): () => void {
  let at = -Infinity;
  return () => {
    const now = performance.now();
    if (now - at < everyMs) return;
    at = now;
    action();
  };
}
