import { InvalidInputError } from './errors.ts';
import { JOB_NAME, parseJob, QUEUE_NAMES, type QueueName } from './job.ts';
import type { ObjectKey } from './object-key.ts';
import { QUOTED, quote } from './quote.ts';

/** What somebody asks for over HTTP: one key to be looked at. */
export interface ReconcileRequest {
  readonly kind: QueueName;
  readonly key: ObjectKey;
}

const EXAMPLE = '{"kind":"service","key":"NAMESPACE/NAME"}';

/**
 * Reads `{"kind":"service"|"cluster","key":"namespace/name"}`. A field that is not known is refused, as
 * in a job: it is most likely a misspelt one.
 *
 * @throws InvalidInputError that names the field; what is no JSON is not quoted, as it may be anything.
 */
export function parseReconcileRequest(text: string): ReconcileRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new InvalidInputError('body', `the body is no JSON: send ${EXAMPLE}`);
  }
  return checkReconcileRequest(body);
}

/**
 * The same of what is parsed already.
 *
 * @throws InvalidInputError that names the field.
 */
export function checkReconcileRequest(body: unknown): ReconcileRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new InvalidInputError('body', `one object is expected: ${EXAMPLE}`);
  }
  const unknown = Object.keys(body).find((field) => field !== 'kind' && field !== 'key');
  if (unknown !== undefined) {
    const shown = quote(unknown);
    throw new InvalidInputError(
      unknown.slice(0, QUOTED),
      `unknown field ${shown}: there is kind, key`,
    );
  }
  const { kind, key } = body as { readonly kind?: unknown; readonly key?: unknown };
  return { kind: checkKind(kind), key: parseJob(JOB_NAME, { key }).key };
}

function checkKind(kind: unknown): QueueName {
  const known = QUEUE_NAMES.find((name) => name === kind);
  if (known !== undefined) return known;
  const expected = QUEUE_NAMES.map(quote).join(' or ');
  if (kind === undefined) throw new InvalidInputError('kind', `kind is missing: it is ${expected}`);
  const shown = typeof kind === 'string' ? quote(kind) : `a ${typeof kind}`;
  throw new InvalidInputError('kind', `kind is ${expected}, not ${shown}`);
}
