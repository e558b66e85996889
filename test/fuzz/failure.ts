import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '../../core/errors.ts';
import { describeStep, type Phase } from './schedule/steps.ts';
import { endpointsIn } from './oracle.ts';
import type { Stage } from './stage.ts';
import type { Change } from './world.ts';

/** A run found something wrong; the message has all that is needed to look into it. */
export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';
}

/** Lines of each member's log that are told with a failure. */
const TAIL = 30;

/** The command that plays the schedule of a seed again. */
export function replayCommand(seed: number, minutes: number, quietEverySeconds: number): string {
  return `npm run fuzz -- --seed ${seed} --minutes ${minutes} --quiet-every ${quietEverySeconds}`;
}

/** Keeps the whole schedule beside the logs. */
export async function noteSchedule(dir: string, phase: Phase): Promise<void> {
  await appendFile(join(dir, 'schedule.txt'), `${textOf(phase)}\n\n`);
}

/** Everything about a failure in one text; what is too long for that goes beside the logs. */
export async function failureOf(
  stage: Stage,
  phase: Phase,
  replay: string,
  cause: unknown,
): Promise<FuzzFailure> {
  const history = stage.etcd.recent.map(describeChange);
  await writeFile(join(stage.dir, 'history.txt'), history.join('\n'));
  const parts = [
    `seed ${stage.seed}, phase ${phase.index} went wrong:\n  ${describeError(cause)}`,
    textOf(phase),
    ...Object.values(stage.members).map(
      (member) => `The last lines of ${member.log}:\n${indent(member.tail(TAIL))}`,
    ),
    `Logs, the whole schedule (schedule.txt) and every version of every object since the last quiet ` +
      `point (history.txt) are in ${stage.dir}. The same schedule again:\n  ${replay}`,
  ];
  return new FuzzFailure(parts.join('\n\n'), { cause });
}

function describeChange({ revision, kind, namespace, name, object }: Change): string {
  const what = `${revision} ${kind} ${namespace}/${name}`;
  if (object === null) return `${what} is gone`;
  const { managedFields: _, ...metadata } = object.metadata as Record<string, unknown>;
  const shown = kind === 'slice' ? endpointsIn(object).map(({ line }) => line) : [];
  return [what, JSON.stringify({ ...object, metadata }), ...shown].join('\n    ');
}

function textOf({ index, steps }: Phase): string {
  return `The schedule of phase ${index}:\n${indent(steps.map(describeStep).join('\n'))}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
