import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '../../core/errors.ts';
import { describeStep, type Phase } from './schedule/steps.ts';
import type { Stage } from './stage.ts';

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

/** Everything about a failure in one text. */
export function failureOf(stage: Stage, phase: Phase, replay: string, cause: unknown): FuzzFailure {
  const parts = [
    `seed ${stage.seed}, phase ${phase.index} went wrong:\n  ${describeError(cause)}`,
    textOf(phase),
    ...Object.values(stage.members).map(
      (member) => `The last lines of ${member.log}:\n${indent(member.tail(TAIL))}`,
    ),
    `Logs and the whole schedule are in ${stage.dir}. The same schedule again:\n  ${replay}`,
  ];
  return new FuzzFailure(parts.join('\n\n'), { cause });
}

function textOf({ index, steps }: Phase): string {
  return `The schedule of phase ${index}:\n${indent(steps.map(describeStep).join('\n'))}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
