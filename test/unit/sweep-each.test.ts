import { expect, test } from '@jest/globals';
import { sweepEach } from '../../watcher/sweeper.ts';

const NAMESPACES = Array.from({ length: 9 }, (_, nth) => `ns-${nth}`);

test('sweeps every namespace, never more than two at a time', async () => {
  const swept: string[] = [];
  let busy = 0;
  let most = 0;
  await sweepEach(NAMESPACES, async (namespace) => {
    most = Math.max(most, (busy += 1));
    await Promise.resolve();
    busy -= 1;
    swept.push(namespace);
  });
  expect(swept.toSorted()).toEqual(NAMESPACES);
  expect(most).toBe(2);
});

/** As many as are swept at a time. */
const FAILING = new Set(['ns-3', 'ns-4']);

test('goes on with the others where some fail, and tells of it in the end', async () => {
  const swept: string[] = [];
  const sweeping = sweepEach(NAMESPACES, (namespace) => {
    swept.push(namespace);
    return FAILING.has(namespace) ? Promise.reject(new Error('Redis is away')) : Promise.resolve();
  });
  await expect(sweeping).rejects.toThrow('Redis is away');
  expect(swept.toSorted()).toEqual(NAMESPACES);
});
