import { describe, expect, test } from '@jest/globals';
import { describePlace, readRedisUrl, type RedisPlace } from '../../platform/redis/url.ts';

const SECRET = 'hunter2';

function place(url: string): RedisPlace {
  const read = readRedisUrl(url);
  if (!read.ok) throw new Error(read.expected);
  return read.value;
}

describe('a URL of Redis', () => {
  test.each<[string, RedisPlace]>([
    ['redis://localhost', { kind: 'single', host: 'localhost', port: 6379, db: 0, tls: false }],
    ['rediss://r.example:7/2', { kind: 'single', host: 'r.example', port: 7, db: 2, tls: true }],
    ['REDIS://[::1]:7', { kind: 'single', host: '::1', port: 7, db: 0, tls: false }],
    [
      'redis://app:p%40s%2Fs@my_redis/',
      {
        kind: 'single',
        host: 'my_redis',
        port: 6379,
        db: 0,
        tls: false,
        username: 'app',
        password: 'p@s/s',
      },
    ],
    [
      'redis://app@localhost',
      { kind: 'single', host: 'localhost', port: 6379, db: 0, tls: false, username: 'app' },
    ],
    [
      'unix://:pw@/run/a%20redis.sock',
      { kind: 'socket', path: '/run/a redis.sock', tls: false, password: 'pw' },
    ],
    ['unix:///run/redis.sock', { kind: 'socket', path: '/run/redis.sock', tls: false }],
    [
      'redis+sentinel://:pw@a,b:7,[fd00::1]/main/3',
      {
        kind: 'sentinel',
        tls: false,
        password: 'pw',
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 7 },
          { host: 'fd00::1', port: 26_379 },
        ],
        master: 'main',
        db: 3,
      },
    ],
    [
      'rediss+cluster://app:pw@a:1,b',
      {
        kind: 'cluster',
        tls: true,
        username: 'app',
        password: 'pw',
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 6379 },
        ],
      },
    ],
  ])('%s is read', (url, expected) => {
    expect(place(url)).toEqual(expected);
  });

  test.each([
    ['localhost:6379', 'a URL such as redis://'],
    [`http://:${SECRET}@localhost`, 'redis+cluster://'],
    [`redis://:${SECRET}@`, 'write special characters of the password as %XX'],
    [`redis://:${SECRET}/x@localhost`, 'write special characters of the password as %XX'],
    [`redis://:${SECRET}?x@localhost`, 'write special characters of the password as %XX'],
    [`redis://:${SECRET}#x@localhost`, 'write special characters of the password as %XX'],
    [`rediss://:${SECRET}@localhost?tls=true`, 'no parameters after ? or #: TLS is rediss://'],
    [`redis+cluster://:${SECRET}@a,b/0#x`, 'no parameters after ? or #: TLS is rediss://'],
    [`redis://:${SECRET}%zz@localhost`, 'a % that is not part of a %XX'],
    [`redis://:${SECRET}@localhost:port`, 'a port a number up to 65535'],
    [`redis://:${SECRET}@localhost:0`, 'a port a number up to 65535'],
    [`redis://:${SECRET}@local host`, 'a host is a name or an address'],
    [`redis://:${SECRET}@localhost/db`, 'the database is a number'],
    [`redis://:${SECRET}@localhost/0/1`, 'the number of a database at most'],
    [`redis://:${SECRET}@a,b`, 'several hosts are for redis+sentinel:// and redis+cluster://'],
    [`redis+sentinel://:${SECRET}@a,b`, 'the name that the Sentinels know the primary by'],
    [`redis+sentinel://:${SECRET}@a,b/main/x`, 'the database is a number'],
    [`redis+sentinel://:${SECRET}@a,,b/main`, 'a host is a name or an address'],
    [`redis+cluster://:${SECRET}@a,b/1`, 'a Cluster has no database to choose'],
    [`unix://:${SECRET}@run/redis.sock`, 'the path of a socket is absolute'],
  ])('%s is refused, and what is said of it has no password', (url, expected) => {
    const read = readRedisUrl(url);
    expect(read).toEqual({ ok: false, expected: expect.stringContaining(expected) });
    expect(JSON.stringify(read)).not.toContain(SECRET);
    expect(JSON.stringify(read)).not.toContain('\\n');
  });

  test.each([
    [`redis://app:${SECRET}@r.example/1`, 'r.example:6379'],
    [`unix://:${SECRET}@/run/redis.sock`, '/run/redis.sock'],
    [`redis+sentinel://:${SECRET}@a,b:7/main`, 'main of the Sentinels a:26379,b:7'],
    [`redis+cluster://:${SECRET}@a:1,b:2`, 'the Cluster a:1,b:2'],
  ])('is named in logs by where it goes', (url, expected) => {
    expect(describePlace(place(url))).toBe(expected);
  });
});
