import type { Logger } from '../../../core/logger.ts';

/** A log that keeps its lines. */
export interface NotedLog extends Logger {
  readonly lines: string[];
}

export function notedLog(): NotedLog {
  const lines: string[] = [];
  const note = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { lines, debug: note, info: note, warn: note, error: note };
}

/** What work failed with. */
export async function failure(work: () => unknown): Promise<Error> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('it did not fail');
}
