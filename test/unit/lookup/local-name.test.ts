import { expect, test } from '@jest/globals';
import { projectService } from '../../../core/project.ts';
import { localNameOf } from '../../../lookup/local-name.ts';

const LABEL = 'multicluster.linkerd.io/remote-discovery';
const SERVICE = 'multicluster.linkerd.io/remote-service';
const LOCAL = 'multicluster.linkerd.io/local-discovery';

function nameOf(labels: Record<string, string>, annotations: Record<string, string> = {}) {
  const metadata = { name: 'web', namespace: 'shop', labels, annotations };
  return localNameOf('shop', projectService({ metadata, spec: {} }));
}

const member = (cluster: string, name: string) => ({ cluster, key: `shop/${name}` });

test('a Service without the label and the annotations stands for itself alone', () => {
  expect(nameOf({ app: 'web' }, { note: 'x' })).toBeNull();
  expect(projectService({ metadata: { annotations: { note: 'x' } } })).not.toHaveProperty(
    'discovery',
  );
});

test('a mirror stands for the Service that its labels name, in its own namespace', () => {
  expect(nameOf({ [LABEL]: 'east', [SERVICE]: 'web-remote' })).toEqual({
    kind: 'mirror',
    members: [member('east', 'web-remote')],
    malformed: [],
  });
});

test('a federated Service stands for every member of its annotations, each once', () => {
  const remote = ' web@east, web@west,,web@east, other@east.eu ,';
  expect(nameOf({}, { [LABEL]: remote, [LOCAL]: 'web-here' })).toEqual({
    kind: 'federated',
    members: [
      member('east', 'web'),
      member('west', 'web'),
      member('east.eu', 'other'),
      member('.local', 'web-here'),
    ],
    malformed: [],
  });
  expect(nameOf({}, { [LABEL]: '' })).toEqual({ kind: 'federated', members: [], malformed: [] });
});

test('what names no member is told, and costs no other', () => {
  const remote = `web,web@,@east,a@b@c,We@east,web@.local,${'x'.repeat(200)},web@west`;
  const name = nameOf({ [LABEL]: 'east' }, { [LABEL]: remote, [LOCAL]: 'a/b' });
  expect(name?.members).toEqual([member('west', 'web')]);
  expect(name?.malformed.map(({ text }) => text.slice(0, 12))).toEqual([
    '@east',
    'web',
    'web@',
    '@east',
    'a@b@c',
    'We@east',
    'web@.local',
    'xxxxxxxxxxxx',
    'a/b',
  ]);
  expect(name?.malformed[0]?.error).toContain(SERVICE);
  for (const { text, error } of name?.malformed ?? []) {
    expect(error).toMatch(/\w/);
    expect(text.length).toBeLessThan(90);
  }
});
