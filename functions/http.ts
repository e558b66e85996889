import type { Gate } from '../platform/http/bearer-gate.ts';
import {
  jsonAnswer,
  refusal,
  type HttpAnswer,
  type HttpHandler,
} from '../platform/http/exchange.ts';
import { admitReconcile } from '../platform/http/reconcile-request.ts';
import type { Runner } from './runner.ts';

export interface HttpFunctionOptions {
  readonly runner: Pick<Runner, 'run'>;
  readonly gate: Pick<Gate, 'admits'>;
  /** For `GET /healthz`. */
  readonly health: () => { readonly ok: boolean };
  /** Called with the HTTP status of each answer to a POST. */
  readonly answered: (code: number) => void;
}

/** Platforms for functions call the root; whoever knows the trigger's path may go on using it. */
const PATHS = ['/', '/v1/reconcile'];

/**
 * The reconcile functions behind HTTP, as Knative and its kin want them: a POST of
 * `{"kind":…,"key":…}` is one run of one key, and the answer is what came of it. 200: done, or refused
 * for good (`outcome` says which); 503 and 504, with Retry-After: not yet, to be asked for again.
 */
export function createHttpFunction(options: HttpFunctionOptions): HttpHandler {
  const { runner, gate, health, answered } = options;
  return async (request) => {
    const { method, path } = request;
    if (path === '/healthz' && method !== 'POST') return healthAnswer(health());
    if (!PATHS.includes(path)) {
      return refusal(404, 'PathNotFound', 'there is POST /, and GET /healthz');
    }
    const admitted = admitReconcile(request, gate);
    const answer = 'refused' in admitted ? admitted.refused : await runner.run(admitted.asked);
    answered(answer.status);
    return answer;
  };
}

function healthAnswer(health: { readonly ok: boolean }): HttpAnswer {
  return jsonAnswer(health.ok ? 200 : 503, health);
}
