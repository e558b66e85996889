import { redactText } from '../telemetry/redact.ts';

/** What a job of ours holds (core/job.ts). */
const FIELDS = new Set(['key', 'reason', 'at', 'trace']);
const LONGEST = 1_000;

/**
 * What the board shows of a job's data: the fields of the contract, and of others no more than their
 * names. Anybody may put a job into the queue, by mistake with an object or a credential in it; workers
 * refuse such jobs and keep them among the failed ones.
 */
export function shownData(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return '(not shown)';
  return Object.fromEntries(
    Object.entries(data).map(([name, value]: [string, unknown]) => [
      shortened(name),
      FIELDS.has(name) ? shownValue(value) : '(not shown)',
    ]),
  );
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? shortened(value) : '(not shown)';
}

function shortened(text: string): string {
  const clean = redactText(text);
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}
