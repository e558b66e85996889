import { expect, test } from '@jest/globals';
import { statusesOf, type ClusterStatus } from '../../../lookup/clusters.ts';
import { ServiceLists } from '../../../lookup/service-lists.ts';
import type { ServiceNames } from '../../../platform/redis/clusters/cluster-view-reader.ts';
import { decision, watch } from './builders.ts';

function east(serving: number): ClusterStatus {
  const watches = new Map([['east', watch({ serving })]]);
  const status = statusesOf({ decisions: [decision()], watches, now: 0 }).get('east');
  if (status === undefined) throw new Error('east has no status');
  return status;
}

test('a list that is read while its cluster is forgotten is not that of the next one', async () => {
  const open: PromiseWithResolvers<ServiceNames>[] = [];
  const lists = new ServiceLists({
    listServices: () => {
      const reading = Promise.withResolvers<ServiceNames>();
      open.push(reading);
      return reading.promise;
    },
  });
  const answer = (serving: number) => lists.answer(east(serving), () => 0, null);
  const before = answer(1);
  lists.forget('east');
  const after = answer(0);
  expect(open).toHaveLength(2);
  open[0]?.resolve(['shop/old']);
  expect((await before).status).toBe(503);
  open[1]?.resolve(null);
  const { status, head } = await after;
  expect(status).toBe(503);
  expect(head).not.toContain('old');
  const last = answer(1);
  open[2]?.resolve(['shop/new']);
  expect((await last).head).toContain('new');
});
