import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NS, openFixture, service, slice, workload, type ViewFixture } from './fixture.ts';

/** Rules A: which Services a change dirties, judged against what the view had before. */
let view: ViewFixture;
beforeEach(() => {
  view = openFixture();
});
afterEach(() => view.close());

describe('a Service', () => {
  it('dirties itself when it is added, changed and deleted (A1)', async () => {
    expect(await view.put('service', service('web', 1))).toEqual(['web']);
    expect(await view.put('service', service('web', 2, { labels: { tier: 'a' } }))).toEqual([
      'web',
    ]);
    expect(await view.remove('service', 'web', '3', 'uid-web')).toEqual(['web']);
  });

  it('dirties nothing when nothing that a slice shows has changed', async () => {
    await view.put('service', service('web', 1));
    expect(await view.put('service', service('web', 2))).toEqual([]);
  });

  it('is dirty when another object took its name, though all else is equal', async () => {
    await view.put('service', service('web', 1));
    expect(await view.put('service', service('web', 2, { uid: 'uid-2' }))).toEqual(['web']);
  });
});

describe('a workload', () => {
  beforeEach(async () => {
    await view.put('service', service('web', 1));
    await view.put('service', service('blue', 2, { selector: { color: 'blue' } }));
    await view.put('service', service('green', 3, { selector: { color: 'green' } }));
    await view.put('service', service('both', 4, { selector: { app: 'web', color: 'blue' } }));
    await view.put('service', service('none', 5, { selector: {} }));
  });

  it('dirties every Service that selects it when added and deleted (A2)', async () => {
    const labels = { app: 'web', color: 'blue' };
    expect(await view.put('workload', workload('vm', 10, { labels }))).toEqual([
      'blue',
      'both',
      'web',
    ]);
    expect(await view.remove('workload', 'vm', '11', 'uid-vm')).toEqual(['blue', 'both', 'web']);
  });

  it('dirties only those that gained or lost it when labels alone change (A3, report 2)', async () => {
    await view.put('workload', workload('vm', 10, { labels: { app: 'web', color: 'blue' } }));
    const flipped = workload('vm', 11, { labels: { app: 'web', color: 'green' } });
    expect(await view.put('workload', flipped)).toEqual(['blue', 'both', 'green']);
  });

  it('dirties those of the old and of the new labels when more than labels changed (A3)', async () => {
    await view.put('workload', workload('vm', 10, { labels: { app: 'web', color: 'blue' } }));
    const moved = workload('vm', 11, {
      labels: { app: 'web', color: 'green' },
      ips: ['192.0.2.9'],
    });
    expect(await view.put('workload', moved)).toEqual(['blue', 'both', 'green', 'web']);
  });

  it('dirties the Service that a dropped label no longer satisfies (report 1)', async () => {
    await view.put('workload', workload('vm', 10, { labels: { app: 'web', color: 'blue' } }));
    expect(await view.put('workload', workload('vm', 11, { labels: { app: 'web' } }))).toEqual([
      'blue',
      'both',
    ]);
  });

  it.each([
    ['its addresses', { ips: ['192.0.2.2'] }],
    ['its ports', { ports: [{ name: 'http', port: 9090, protocol: 'TCP' as const }] }],
    ['its readiness', { ready: false }],
    ['its deletion', { deleting: true }],
    ['its zone', { labels: { app: 'web', 'topology.kubernetes.io/zone': 'z1' } }],
  ])('dirties its Services when %s changed (A3)', async (_what, over) => {
    await view.put('workload', workload('vm', 10));
    expect(await view.put('workload', workload('vm', 11, over))).toEqual(['web']);
  });

  it('dirties nothing when only what no slice shows has changed, such as mTLS fields (A3)', async () => {
    await view.put('workload', workload('vm', 10));
    expect(await view.put('workload', workload('vm', 11))).toEqual([]);
  });

  it('dirties nothing when the same version comes a hundred times (A3, report 91)', async () => {
    await view.put('workload', workload('vm', 10));
    const again = Array.from({ length: 100 }, () => ({
      op: 'upsert' as const,
      kind: 'workload' as const,
      object: workload('vm', 10, { ready: false }),
    }));
    const applied = await view.writer.apply(NS, again);
    expect([applied.accepted, applied.dirty]).toEqual([0, []]);
  });

  it('follows a selector that changed', async () => {
    await view.put('service', service('web', 20, { selector: { app: 'other' } }));
    expect(await view.put('workload', workload('vm', 21))).toEqual([]);
    expect(await view.put('workload', workload('vm2', 22, { labels: { app: 'other' } }))).toEqual([
      'web',
    ]);
  });
});

describe('a slice of ours', () => {
  it('dirties its Service when somebody else changes or deletes it (A4)', async () => {
    await view.put('slice', slice('web-1', 1, 'web'));
    expect(await view.put('slice', slice('web-1', 2, 'web', { ports: [] }))).toEqual(['web']);
    expect(await view.remove('slice', 'web-1', '3', 'uid-web-1')).toEqual(['web']);
  });

  it('dirties the old and the new Service when it is relabelled (A4)', async () => {
    await view.put('slice', slice('web-1', 1, 'web'));
    expect(await view.put('slice', slice('web-1', 2, 'shop'))).toEqual(['shop', 'web']);
  });

  it('dirties its Service whenever it loses our label or gets it back, as often as that is (A4)', async () => {
    await view.put('slice', slice('web-1', 1, 'web'));
    const event = { name: 'web-1', uid: 'uid-web-1' };
    for (const rv of [10, 20]) {
      const gone = { ...event, op: 'remove' as const, rv: `${rv}` };
      expect(await view.writer.news(NS, 'slice', [gone])).toEqual([true]);
      expect(await view.remove('slice', 'web-1', `${rv}`, 'uid-web-1')).toEqual(['web']);
      expect(await view.writer.news(NS, 'slice', [gone])).toEqual([false]);
      const late = { ...event, op: 'upsert' as const, rv: `${rv - 1}` };
      const back = { ...event, op: 'upsert' as const, rv: `${rv + 1}` };
      expect(await view.writer.news(NS, 'slice', [late, back])).toEqual([false, true]);
      expect(await view.put('slice', slice('web-1', rv - 1, 'web'))).toEqual([]);
      expect(await view.put('slice', slice('web-1', rv + 1, 'web'))).toEqual(['web']);
    }
  });
});

describe('a list', () => {
  it('dirties what vanished while the watch was broken (A5, report 87)', async () => {
    await view.put('service', service('web', 1));
    await view.put('workload', workload('vm', 2));
    expect(await view.remove('workload', 'vm', '9')).toEqual(['web']);
  });

  it('spares what is newer than itself', async () => {
    await view.put('service', service('web', 1));
    await view.put('workload', workload('vm', 10));
    expect(await view.remove('workload', 'vm', '9')).toEqual([]);
    expect(await view.writer.names(NS, 'workload')).toEqual(['vm']);
  });
});

describe('versions', () => {
  it('compare as integers of any length: 99 is older than 100', async () => {
    await view.put('service', service('web', 99));
    expect(await view.put('service', service('web', 100, { labels: { a: 'b' } }))).toEqual(['web']);
    expect(await view.put('service', service('web', 99, { labels: { a: 'c' } }))).toEqual([]);
  });

  it('keep a late older write from reviving a deleted object', async () => {
    await view.put('service', service('web', 1));
    await view.put('workload', workload('vm', 2));
    await view.remove('workload', 'vm', '4', 'uid-vm');
    expect(await view.put('workload', workload('vm', 3, { ready: false }))).toEqual([]);
    expect(await view.put('workload', workload('vm', 5))).toEqual([]);
    expect(await view.put('workload', workload('vm', 6, { uid: 'uid-new' }))).toEqual(['web']);
  });

  it('keep a deletion that comes before the object from being undone by it', async () => {
    await view.remove('workload', 'vm', '4', 'uid-vm');
    await view.put('service', service('web', 1));
    expect(await view.put('workload', workload('vm', 3))).toEqual([]);
  });
});
