import { createHash } from 'node:crypto';

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What is to be told about an object. */
export interface EventInput {
  readonly regarding: EventSubject;
  readonly type: 'Warning' | 'Normal';
  /** One word in CamelCase. */
  readonly reason: string;
  /** One sentence. It must not change from one occurrence to the next: it is part of the identity. */
  readonly message: string;
}

/** The fields of a stored Event (core/v1) that repeats depend on. */
export interface StoredEvent {
  readonly count?: number;
  readonly lastTimestamp?: string | null;
}

/** The API server's own limit for a message in events.k8s.io/v1. */
const MAX_MESSAGE = 1024;
/** What is left of 253 characters beside a dot and the hash. */
const MAX_NAME = 253 - 17;

/** The Event's name: the same whenever, and by whomever, the same is said of the same object. */
export function eventName({ regarding, reason, message }: EventInput): string {
  const identity = [regarding.uid, reason, message].join('\n');
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  // A name cut at a dot or dash would be none.
  const subject = regarding.name.slice(0, MAX_NAME).replace(/[.-]+$/, '');
  return `${subject}.${hash}`;
}

export function eventsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/events`;
}

/** A new Event, as core/v1 wants it. `at` is an RFC 3339 time in whole seconds. */
export function eventObject(
  event: EventInput,
  component: string,
  count: number,
  at: string,
): Record<string, unknown> {
  const { regarding, type, reason, message } = event;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: eventName(event), namespace: regarding.namespace },
    involvedObject: regarding,
    type,
    reason,
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message,
    source: { component },
    reportingComponent: component,
    reportingInstance: '',
    firstTimestamp: at,
    lastTimestamp: at,
    count,
  };
}

/** metav1.Time has whole seconds. */
export function eventTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
