import { expect, test } from '@jest/globals';
import { onlyPort } from '../../../lookup/endpoint-set.ts';
import type { EndpointsRoute } from '../../../lookup/routes.ts';
import type { Target } from '../../../lookup/target.ts';
import { Targets } from '../../../lookup/targets.ts';
import { endpoint, setOfSlices, slice } from './builders.ts';

const route = (key: string): EndpointsRoute => ({
  kind: 'endpoints',
  cluster: 'east',
  key,
  port: '',
  watch: false,
  maxAgeMs: null,
});

function targets() {
  let time = 0;
  const make = (): Target => ({
    load: () => undefined,
    now: () => {
      throw new Error('nobody asks');
    },
    watch: () => () => undefined,
    changedAt: () => null,
  });
  const all = new Targets({ make, monotonicMs: () => time });
  const pass = (ms: number): void => {
    time += ms;
    all.tick();
  };
  return { all, pass };
}

test('a target is kept while it is asked for, and for a minute after that', () => {
  const { all, pass } = targets();
  const [web, api] = [route('shop/web'), route('shop/api')];
  const [first, other] = [all.of(web), all.of(api)];
  pass(40_000);
  expect(all.of(web)).toBe(first);
  pass(40_000);
  expect(all.of(web)).toBe(first);
  expect(all.of(api)).not.toBe(other);
});

test('a set is narrowed to a port once, whoever asks, and for as long as the set is there', () => {
  const set = setOfSlices([slice({ endpoints: [endpoint('10.0.0.1')] })]);
  const http = onlyPort(set, 'http');
  expect(http?.items.size).toBe(1);
  expect(onlyPort(set, 'http')).toBe(http);
  expect(onlyPort(set, 'metrics')).toBeNull();
  for (let port = 1; port <= 1_000; port += 1) onlyPort(set, String(port));
  expect(onlyPort(set, 'http')?.version).toBe(http?.version);
});
