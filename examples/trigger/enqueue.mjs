// Asks Tether to look at one Service now, and waits for what comes of it.
//
//   npm install bullmq ioredis
//   TETHER_REDIS_URL=redis://… node enqueue.mjs shop/web
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

const [key] = process.argv.slice(2);
const { TETHER_REDIS_URL: url, TETHER_REDIS_PREFIX: name = 'tether' } = process.env;
// The braces are part of the prefix.
const prefix = `{${name}}`;

/**
 * What came of a job: the worker writes it into a stream, which lives for two minutes. The job itself is
 * gone once it is done, which may be before anybody asks.
 */
async function outcome(redis, jobId, seconds) {
  const stream = `${prefix}:outcome:service:${jobId}`;
  const until = Date.now() + 1000 * seconds;
  let after = '0';
  while (Date.now() < until) {
    const reply = await redis.xread('BLOCK', 5000, 'STREAMS', stream, after);
    for (const [id, [, text]] of reply?.[0][1] ?? []) {
      const entry = JSON.parse(text);
      if (entry.kind !== 'retry') return entry;
      console.log(`put off: ${entry.reason}`);
      after = id;
    }
  }
  return { kind: 'pending', reason: `not done within ${seconds} s; it stays in the queue` };
}

const queue = new Queue('service', { connection: { url }, prefix });
const redis = new Redis(url);
const job = await queue.add('reconcile', { key, reason: 'asked for by enqueue.mjs' });
console.log(`${key} is job ${job.id}`);
const { kind, reason, result } = await outcome(redis, job.id, 60);
if (kind === 'completed') {
  const { created, updated, deleted } = result;
  console.log(`done: ${created} created, ${updated} updated, ${deleted} deleted`);
} else {
  console.error(`${kind}: ${reason}`);
  process.exitCode = 1;
}
redis.disconnect();
await queue.close();
