import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openChangeFeed, type ChangeFeed } from '../../../platform/redis/clusters/change-feed.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import { notedLog, type NotedLog } from '../redis/noted.ts';

const PREFIX = 'feed';
const CHANNELS = `&{${PREFIX}}:*`;

let server: PrivateRedis;
let admin: Redis;
let feed: ChangeFeed;
let log: NotedLog;
beforeEach(async () => {
  server = await startPrivateRedis();
  admin = new Redis(server.url);
  log = notedLog();
});
afterEach(async () => {
  feed.close();
  admin.disconnect();
  await server.stop();
});

async function open(...rules: string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '+@all', ...rules);
  const nothing = (): void => undefined;
  const listener = { changed: nothing, registryChanged: nothing, missed: nothing };
  feed = openChangeFeed(`redis://app:pw@127.0.0.1:${server.port}`, PREFIX, listener, log);
}

/** So many connections were ever made to the server, and so often it was asked for `command`. */
async function connections(): Promise<number> {
  return Number(/^total_connections_received:(\d+)/m.exec(await admin.info('stats'))?.[1]);
}
async function refused(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  const count = new RegExp(`^cmdstat_${command}:.*rejected_calls=(\\d+)`, 'm').exec(stats);
  return Number(count?.[1] ?? 0);
}

test('a user without a right to the channels is told so, and listens once it is granted', async () => {
  const before = await connections();
  await open('resetchannels');
  await eventually(async () => expect(await refused('subscribe')).toBeGreaterThanOrEqual(2));
  expect(log.lines.length).toBeLessThan(await refused('subscribe'));
  expect(log.lines[0]).toMatch(/^Redis refuses the subscription to changes \(NOPERM .*"Rights"/);
  // Nobody connects anew because of it.
  expect(await connections()).toBe(before + 1);
  expect(feed.listening()).toBe(false);
  await admin.call('ACL', 'SETUSER', 'app', CHANNELS);
  await eventually(() => expect(feed.listening()).toBe(true));
});

test('a connection on which a PING is refused stands, and is listened to', async () => {
  await open(CHANNELS, '-ping');
  await eventually(() => expect(feed.listening()).toBe(true));
  const before = await connections();
  await eventually(async () => expect(await refused('ping')).toBeGreaterThanOrEqual(2));
  expect(feed.listening()).toBe(true);
  expect(await connections()).toBe(before);
});
