import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { membersKey } from '../../../platform/redis/clusters/keys.ts';
import { createClusterMembers } from '../../../platform/redis/clusters/members.ts';
import { openClusterFixture, type ClusterFixture } from './fixture.ts';

let fixture: ClusterFixture;

beforeEach(async () => {
  fixture = await openClusterFixture();
});
afterEach(() => fixture.close());

const now = async (): Promise<number> => {
  const [seconds, micros] = await fixture.redis.time();
  return Number(seconds) * 1000 + Number(micros) / 1000;
};

describe('watcher processes know of each other', () => {
  it('in one order, whoever asks', async () => {
    const members = createClusterMembers(fixture.redis, fixture.prefix);
    await members.beat('b');
    await members.beat('a');
    expect(await members.beat('c')).toEqual(['a', 'b', 'c']);
    expect(await members.beat('a')).toEqual(['a', 'b', 'c']);
  });

  it('until one is silent, by Redis’ clock', async () => {
    const members = createClusterMembers(fixture.redis, fixture.prefix);
    const key = membersKey(fixture.prefix);
    await fixture.redis.zadd(key, (await now()) - 1_900, 'silent', (await now()) - 1_000, 'alive');
    expect(await members.beat('me')).toEqual(['alive', 'me']);
  });

  it('and at once when one leaves', async () => {
    const members = createClusterMembers(fixture.redis, fixture.prefix);
    await members.beat('a');
    await members.beat('b');
    await members.leave('a');
    expect(await members.beat('b')).toEqual(['b']);
  });
});
