import { describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../../core/api-objects.ts';
import { ANNOTATION_LOCAL_DISCOVERY } from '../../../core/names.ts';
import { LocalDiscovery } from '../../../watcher/clusters/local-discovery.ts';
import { RecordingSink, type Named } from '../../support/recording-sink.ts';

const member = (name: string, namespace = 'shop'): ApiObject => ({
  metadata: { name, namespace, annotations: { [ANNOTATION_LOCAL_DISCOVERY]: name } },
});
const plain = (name: string): ApiObject => ({ metadata: { name, namespace: 'shop' } });

function begin() {
  const discovery = new LocalDiscovery((namespace) => namespace === 'shop');
  return { discovery, sink: discovery.tap(new RecordingSink<Named>()) };
}

describe('whether the served cluster is to be watched as a linked one', () => {
  it('is not known before the Services were listed', async () => {
    const { discovery, sink } = begin();
    await sink.onPage([plain('a')]);
    expect(discovery.wanted()).toBeNull();
    await sink.onListed('1');
    expect(discovery.wanted()).toBe(false);
  });

  it('follows the annotation of any Service that is served', async () => {
    const { discovery, sink } = begin();
    await sink.onListed('1');
    sink.onEvent('ADDED', member('a', 'elsewhere'));
    expect(discovery.wanted()).toBe(false);
    sink.onEvent('ADDED', member('a'));
    sink.onEvent('ADDED', member('b'));
    sink.onEvent('MODIFIED', plain('a'));
    expect(discovery.wanted()).toBe(true);
    sink.onEvent('DELETED', member('b'));
    expect(discovery.wanted()).toBe(false);
  });

  it('is what the last whole list says', async () => {
    const { discovery, sink } = begin();
    await sink.onPage([member('a')]);
    sink.onListAbandoned();
    await sink.onListed('2');
    expect(discovery.wanted()).toBe(false);
    await sink.onPage([member('a')]);
    await sink.onListed('3');
    await sink.onListed('4');
    expect(discovery.wanted()).toBe(false);
  });
});
