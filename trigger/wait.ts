import { quote } from '../core/quote.ts';

const DEFAULT_MS = 30_000;
/** Proxies cut a request that is silent for longer. */
const LONGEST_MS = 300_000;

/**
 * Reads `wait=true[&timeout=SECONDS]`: how long to wait, ms; null: not at all. A sentence when there is
 * something wrong with it.
 */
export function parseWait(query: string): number | null | string {
  const parameters = parametersOf(query);
  if (typeof parameters === 'string') return parameters;
  const wait = parameters.get('wait') ?? 'false';
  if (wait !== 'true' && wait !== 'false') return `wait=${quote(wait)}: expected true or false`;
  const timeout = parameters.get('timeout');
  if (wait === 'false') return timeout === undefined ? null : 'timeout is for wait=true';
  if (timeout === undefined) return DEFAULT_MS;
  const most = LONGEST_MS / 1_000;
  return (
    millisecondsOf(timeout) ?? `timeout=${quote(timeout)}: expected seconds from 0.1 to ${most}`
  );
}

function parametersOf(query: string): ReadonlyMap<string, string> | string {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (parameters.has(name)) return `parameter ${quote(name)} is given twice`;
    if (name !== 'wait' && name !== 'timeout') {
      return `unknown parameter ${quote(name)}: there is wait, timeout`;
    }
    parameters.set(name, value);
  }
  return parameters;
}

function millisecondsOf(text: string): number | null {
  const ms = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : NaN;
  return ms >= 100 && ms <= LONGEST_MS ? ms : null;
}
