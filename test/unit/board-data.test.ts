import { describe, expect, it } from '@jest/globals';
import { shownData } from '../../platform/board/shown-data.ts';

describe('what the board shows of a job', () => {
  it('is its key, reason and time', () => {
    const data = { key: 'shop/web', reason: 'the VM was moved', at: 1 };
    expect(shownData(data)).toEqual(data);
  });

  it('names other fields, and leaves out what they hold', () => {
    expect(shownData({ key: 'shop/web', kubeconfig: 'apiVersion: v1' })).toEqual({
      key: 'shop/web',
      kubeconfig: '(not shown)',
    });
  });

  it.each([['s3cret'], [['s3cret']], [null], [7]])('is nothing of %j, which is no job', (data) => {
    expect(shownData(data)).toBe('(not shown)');
  });

  it('is nothing of a field that holds something else than it should', () => {
    expect(shownData({ key: { password: 's3cret' }, at: ['s3cret'] })).toEqual({
      key: '(not shown)',
      at: '(not shown)',
    });
  });

  it('leaves credentials out of a reason, and shortens it', () => {
    const { reason } = shownData({ reason: `redis://:s3cret@host ${'x'.repeat(5_000)}` }) as {
      readonly reason: string;
    };
    expect(reason).not.toContain('s3cret');
    expect(reason.length).toBeLessThan(1_100);
  });
});
