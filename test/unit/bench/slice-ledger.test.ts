import { describe, expect, it } from '@jest/globals';
import { SliceLedger } from '../../../bench/agent/slice-ledger.ts';
import { addressOf, type World } from '../../../bench/world.ts';
import type { ApiEndpointSlice } from '../../../core/api-objects.ts';

const WORLD: World = {
  prefix: 'b',
  services: 2,
  per: 2,
  namespaces: 1,
  backing: 'workloads',
  withStatus: true,
};
const [A, B] = [addressOf(WORLD, 0, 0), addressOf(WORLD, 0, 1)];
const [C, D] = [addressOf(WORLD, 1, 0), addressOf(WORLD, 1, 1)];

/** A slice of the Service `svc-N` that offers these addresses; `!` before one: not ready. */
function slice(service: number, name: string, addresses: readonly string[]): ApiEndpointSlice {
  return {
    metadata: {
      namespace: 'b-0',
      name,
      labels: { 'kubernetes.io/service-name': `svc-${service}` },
    },
    ports: [{ name: 'http', port: 8080 }],
    endpoints: addresses.map((text) => ({
      addresses: [text.replace('!', '')],
      conditions: { ready: !text.startsWith('!') },
    })),
  };
}

describe('SliceLedger', () => {
  it('calls a Service right once every address is in one slice, ready, and nothing else is', () => {
    const ledger = new SliceLedger(WORLD);
    expect(ledger.services).toBe(2);
    ledger.apply('ADDED', slice(0, 'x', [A]));
    expect(ledger.right).toBe(0);
    ledger.apply('ADDED', slice(0, 'y', [B]));
    expect(ledger.right).toBe(1);
    ledger.apply('ADDED', slice(1, 'z', [C, D]));
    expect(ledger).toMatchObject({ right: 2 });
    expect(ledger.wrong()).toEqual([]);
  });

  it('calls a Service wrong while an address is in two slices', () => {
    const ledger = new SliceLedger(WORLD);
    ledger.apply('ADDED', slice(0, 'x', [A, B]));
    ledger.apply('ADDED', slice(0, 'y', [B]));
    expect(ledger.right).toBe(0);
    expect(ledger.wrong()).toContain('b-0/svc-0');
    ledger.apply('DELETED', slice(0, 'y', [B]));
    expect(ledger.right).toBe(1);
  });

  it('calls a Service wrong that offers an address which is not its own', () => {
    const ledger = new SliceLedger(WORLD);
    ledger.apply('ADDED', slice(0, 'x', [A, B, C]));
    expect(ledger.right).toBe(0);
    ledger.apply('MODIFIED', slice(0, 'x', [A, B]));
    expect(ledger.right).toBe(1);
  });

  it('calls a Service wrong whose slice has another port', () => {
    const ledger = new SliceLedger(WORLD);
    ledger.apply('ADDED', { ...slice(0, 'x', [A, B]), ports: [{ name: 'http', port: 80 }] });
    expect(ledger.right).toBe(0);
  });

  it('calls a Service wrong while readiness is not what is expected', () => {
    const ledger = new SliceLedger(WORLD);
    ledger.apply('ADDED', slice(0, 'x', [A, B]));
    ledger.expect('b-0/svc-0', A, false);
    expect(ledger.right).toBe(0);
    ledger.apply('MODIFIED', slice(0, 'x', [`!${A}`, B]));
    expect(ledger.right).toBe(1);
  });

  it('tells what an event newly shows, and only that', () => {
    const ledger = new SliceLedger(WORLD);
    expect(ledger.apply('ADDED', slice(0, 'x', [A]))).toEqual({
      key: 'b-0/svc-0',
      sightings: [{ address: A, ready: true }],
    });
    const { sightings } = ledger.apply('MODIFIED', slice(0, 'x', [`!${A}`, B]));
    expect(sightings).toEqual([
      { address: A, ready: false },
      { address: B, ready: true },
    ]);
    expect(ledger.apply('MODIFIED', slice(0, 'x', [`!${A}`, B])).sightings).toEqual([]);
  });

  it('covers the namespaces of its own world alone', () => {
    const ledger = new SliceLedger(WORLD);
    expect(ledger.covers(slice(0, 'x', []))).toBe(true);
    expect(ledger.covers({ metadata: { namespace: 'bb-0' } })).toBe(false);
    expect(ledger.covers({ metadata: { namespace: 'kube-system' } })).toBe(false);
  });
});
