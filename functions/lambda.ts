import { InvalidInputError } from '../core/errors.ts';
import { checkReconcileRequest } from '../core/reconcile-request.ts';
import {
  MAX_BODY_BYTES,
  refusal,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
} from '../platform/http/exchange.ts';
import type { Runner } from './runner.ts';

/** The parts that are read of an event of API Gateway or of a function URL (payload format 2.0). */
export interface LambdaHttpEvent {
  readonly version: '2.0';
  readonly rawPath: string;
  readonly rawQueryString: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly http: { readonly method: string } };
  readonly body?: string;
  readonly isBase64Encoded: boolean;
}

export interface LambdaAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface LambdaFunction {
  readonly runner: Pick<Runner, 'run'>;
  /** For events that came over HTTP; null: they are refused, as anybody could send them. */
  readonly http: HttpHandler | null;
}

/**
 * The function in the shape that AWS Lambda wants. An event of API Gateway or of a function URL is a
 * request like any other, and must bring the token. Any other event is `{ kind, key }` itself: who may
 * invoke the function directly was decided by IAM.
 *
 * @param open makes the function, or gives the one that was made for an earlier invocation.
 */
export function createLambdaHandler(
  open: () => Promise<LambdaFunction>,
): (event: unknown) => Promise<LambdaAnswer> {
  return async (event) => {
    const { runner, http } = await open();
    const answer = isHttpEvent(event) ? await byHttp(event, http) : await directly(event, runner);
    return { statusCode: answer.status, headers: answer.headers, body: answer.body };
  };
}

async function directly(event: unknown, runner: LambdaFunction['runner']): Promise<HttpAnswer> {
  try {
    return await runner.run(checkReconcileRequest(event));
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return refusal(400, 'BadRequest', error.message);
  }
}

async function byHttp(event: LambdaHttpEvent, http: HttpHandler | null): Promise<HttpAnswer> {
  if (http !== null) return http(requestOf(event), new AbortController().signal);
  const error = 'requests over HTTP need a token: set TETHER_TRIGGER_TOKEN or its _FILE';
  return refusal(403, 'Forbidden', error);
}

function isHttpEvent(event: unknown): event is LambdaHttpEvent {
  return typeof event === 'object' && event !== null && 'requestContext' in event;
}

/** Every field may be missing: tests of the console, and other formats, are requests to be refused. */
function requestOf(event: Partial<LambdaHttpEvent>): HttpRequest {
  const { rawPath = '/', rawQueryString: query = '', requestContext } = event;
  const headers = event.headers ?? {};
  const sent = typeof event.body === 'string' ? event.body : '';
  const body = event.isBase64Encoded === true ? Buffer.from(sent, 'base64').toString() : sent;
  return {
    method: requestContext?.http?.method ?? '',
    path: rawPath,
    query,
    authorization: headers['authorization'],
    contentType: headers['content-type'],
    body: Buffer.byteLength(body) > MAX_BODY_BYTES ? null : body,
  };
}
