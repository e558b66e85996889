import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Comeback } from '../../watcher/comeback.ts';
import type { ReflectorState } from '../../watcher/reflector.ts';
import { eventually } from '../support/eventually.ts';

type State = ReflectorState['kind'];
type Kind = 'services' | 'workloads' | 'slices';

let states: Record<Kind, State>;
let now: number;
let did: string[];
let comeback: Comeback;
beforeEach(() => {
  states = { services: 'watching', workloads: 'watching', slices: 'watching' };
  now = 0;
  did = [];
  comeback = new Comeback({
    states: () => Object.values(states),
    marksLastMs: 10_000,
    hold: () => void did.push('hold'),
    goOn: () => void did.push('go on'),
    monotonicMs: () => now,
  });
});
afterEach(() => comeback.stop());

function turns(state: State, ...kinds: Kind[]): void {
  for (const kind of kinds) {
    states = { ...states, [kind]: state };
    comeback.changed(state);
  }
}

describe('a watcher that comes back', () => {
  it('marks the view again at once after a short outage, and holds nothing', () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 9_000;
    turns('watching', 'services', 'workloads');
    expect(did).toEqual([]);
    turns('watching', 'slices');
    expect(did).toEqual(['go on']);
  });

  it('holds the keys of the first kinds until the last one is back after a long one', () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 10_001;
    turns('watching', 'workloads');
    turns('listing', 'slices');
    turns('watching', 'services');
    expect(did).toEqual(['hold']);
    turns('watching', 'slices');
    expect(did).toEqual(['hold', 'go on']);
  });

  it('holds the keys that a list brings until all kinds are back, however short the outage', () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 100;
    turns('listing', 'workloads');
    expect(did).toEqual(['hold']);
    turns('watching', 'workloads', 'slices');
    expect(did).toEqual(['hold']);
    turns('listing', 'services');
    turns('watching', 'services');
    expect(did).toEqual(['hold', 'go on']);
  });

  it('holds them before the first page of a list is taken', () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 10_001;
    turns('listing', 'workloads');
    expect(did).toEqual(['hold']);
  });

  it('goes on without a kind that stays away', async () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 10_001;
    turns('watching', 'services', 'slices');
    await eventually(() => expect(did).toEqual(['hold', 'go on']));
    // And does not hold up those that are back each time that one of them begins anew.
    turns('watching', 'services');
    expect(did).toEqual(['hold', 'go on']);
  });

  it('goes on without a list that takes too long', async () => {
    turns('retrying', 'services', 'workloads', 'slices');
    now += 10_001;
    turns('listing', 'services');
    turns('watching', 'workloads', 'slices');
    now += 10_000;
    await eventually(() => expect(did).toEqual(['hold', 'go on']));
  });

  it('takes a list that was asked for, however long, for no outage', () => {
    turns('listing', 'services', 'workloads', 'slices');
    now += 60_000;
    turns('watching', 'services', 'workloads', 'slices');
    expect(did).toEqual([]);
  });
});
