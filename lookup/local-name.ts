import {
  ANNOTATION_LOCAL_DISCOVERY,
  LABEL_REMOTE_SERVICE,
  LOCAL_CLUSTER,
  REMOTE_DISCOVERY,
} from '../core/names.ts';
import { isDnsSubdomain } from '../core/object-key.ts';
import type { ServiceRecord } from '../core/records.ts';

/** A Service in some cluster whose endpoints a local Service stands for. */
export interface Member {
  /** LOCAL_CLUSTER: the served cluster itself. */
  readonly cluster: string;
  /** `namespace/name`. */
  readonly key: string;
}

/** A part of a label or an annotation that names no member; told to whoever asks, and left out. */
export interface Malformed {
  readonly text: string;
  readonly error: string;
}

/** What a local Service stands for. */
export interface LocalName {
  readonly kind: 'mirror' | 'federated';
  readonly members: readonly Member[];
  readonly malformed: readonly Malformed[];
}

/** More members than anybody has clusters: the rest is told as malformed. */
const MOST_MEMBERS = 500;

/** Null for a Service that stands for no other: it has neither the label nor an annotation. */
export function localNameOf(namespace: string, service: ServiceRecord): LocalName | null {
  const { labels, discovery } = service;
  if (labels[REMOTE_DISCOVERY] === undefined && discovery === undefined) return null;
  const members = new Map<string, Member>();
  const malformed: Malformed[] = [];
  for (const one of partsOf(namespace, service)) {
    if ('error' in one) malformed.push(one);
    else if (members.size < MOST_MEMBERS) members.set(`${one.cluster} ${one.key}`, one);
    else malformed.push({ text: one.key, error: `more than ${MOST_MEMBERS} members` });
  }
  const kind = discovery === undefined ? 'mirror' : 'federated';
  return { kind, members: [...members.values()], malformed };
}

function partsOf(namespace: string, { labels, discovery }: ServiceRecord): (Member | Malformed)[] {
  const cluster = labels[REMOTE_DISCOVERY];
  const name = labels[LABEL_REMOTE_SERVICE] ?? '';
  return [
    ...(cluster === undefined ? [] : [mirrorMember(namespace, cluster, name)]),
    ...listOf(discovery?.remote).map((text) => remoteMember(namespace, text)),
    ...listOf(discovery?.local).map((text) => localMember(namespace, text)),
  ];
}

function listOf(text = ''): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function mirrorMember(namespace: string, cluster: string, name: string): Member | Malformed {
  const text = `${name}@${cluster}`;
  if (name === '') return { text, error: `the label ${LABEL_REMOTE_SERVICE} is missing or empty` };
  return memberOf(namespace, { text, name, cluster });
}

function remoteMember(namespace: string, text: string): Member | Malformed {
  const parts = text.split('@');
  const [name = '', cluster = ''] = parts;
  if (parts.length !== 2) {
    return malformed(text, `${REMOTE_DISCOVERY} wants SERVICE@CLUSTER`);
  }
  return memberOf(namespace, { text, name, cluster });
}

function localMember(namespace: string, text: string): Member | Malformed {
  if (isDnsSubdomain(text)) return { cluster: LOCAL_CLUSTER, key: `${namespace}/${text}` };
  return malformed(text, `${ANNOTATION_LOCAL_DISCOVERY} wants the name of a Service`);
}

function memberOf(
  namespace: string,
  { text, name, cluster }: { text: string; name: string; cluster: string },
): Member | Malformed {
  if (!isDnsSubdomain(name)) return malformed(text, 'the part before the @ is no Service’s name');
  if (!isDnsSubdomain(cluster)) return malformed(text, 'the part after the @ is no cluster’s name');
  return { cluster, key: `${namespace}/${name}` };
}

/** Anybody may have written the text. */
function malformed(text: string, error: string): Malformed {
  return { text: text.length > 80 ? `${text.slice(0, 80)}…` : text, error };
}
