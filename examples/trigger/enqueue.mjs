// Asks Tether to look at one Service now, and waits for what comes of it.
//
//   npm install bullmq
//   TETHER_REDIS_URL=redis://… node enqueue.mjs shop/web
import { Queue, QueueEvents } from 'bullmq';

const [key] = process.argv.slice(2);
const { TETHER_REDIS_URL: url, TETHER_REDIS_PREFIX: name = 'tether' } = process.env;
// The braces are part of the prefix.
const options = { connection: { url }, prefix: `{${name}}` };

const queue = new Queue('service', options);
const events = new QueueEvents('service', options);
await events.waitUntilReady();
const job = await queue.add('reconcile', { key, reason: 'asked for by enqueue.mjs' });
console.log(`${key} is job ${job.id}`);
try {
  const { created, updated, deleted } = await job.waitUntilFinished(events, 60_000);
  console.log(`done: ${created} created, ${updated} updated, ${deleted} deleted`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
await events.close();
await queue.close();
