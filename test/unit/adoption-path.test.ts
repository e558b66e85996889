import { afterEach, describe, expect, it } from '@jest/globals';
import { LABEL_MANAGED_BY } from '../../core/names.ts';
import { AdoptionPath } from '../../watcher/adoption-path.ts';
import type { EventPath, SeenEvent } from '../../watcher/event-path.ts';
import { eventually } from '../support/eventually.ts';

const THEIRS = 'linkerd-external-workloads-controller';
const OURS = 'tether-external-workloads';

function seen(name: string, manager: string, version: string): SeenEvent {
  const metadata = {
    namespace: 'ns',
    name,
    resourceVersion: version,
    labels: { [LABEL_MANAGED_BY]: manager },
  };
  return { type: 'MODIFIED', namespace: 'ns', object: { metadata }, at: 1 };
}

/** Takes what comes through, `NAME@VERSION`. */
class Taken implements EventPath {
  readonly events: SeenEvent[] = [];
  stopped = false;
  push(event: SeenEvent): void {
    this.events.push(event);
  }
  flush(): void {
    // Everything is taken at once.
  }
  stop(): void {
    this.stopped = true;
  }
  get lines(): string[] {
    return this.events.map(
      ({ object: { metadata } }) => `${metadata?.name}@${metadata?.resourceVersion}`,
    );
  }
}

let path: AdoptionPath | undefined;
afterEach(() => path?.stop());

function open(delayMs: number): { path: AdoptionPath; taken: Taken } {
  const next = new Taken();
  path = new AdoptionPath({ next, adopt: [THEIRS], delayMs, now: () => 77 });
  return { path, taken: next };
}

const NEVER = 3_600_000;
const SOON = 5;

describe('what is written by a manager that is taken over', () => {
  it('is held back, and what is ours passes', () => {
    const { path, taken } = open(NEVER);
    path.push(seen('a', THEIRS, '1'));
    path.push(seen('b', OURS, '2'));
    path.flush();
    expect(taken.lines).toEqual(['b@2']);
  });

  it('comes through later: the last of each slice, as if it were new', async () => {
    const { path, taken } = open(SOON);
    path.push(seen('a', THEIRS, '1'));
    path.push(seen('a', THEIRS, '2'));
    path.push(seen('b', THEIRS, '3'));
    await eventually(() => expect(taken.lines).toEqual(['a@2', 'b@3']));
    expect(taken.events.map(({ at }) => at)).toEqual([77, 77]);
    path.push(seen('a', THEIRS, '4'));
    await eventually(() => expect(taken.lines).toEqual(['a@2', 'b@3', 'a@4']));
  });

  it('is forgotten once the slice is ours', async () => {
    const { path, taken } = open(SOON);
    path.push(seen('a', THEIRS, '1'));
    path.push(seen('a', OURS, '2'));
    path.push(seen('b', THEIRS, '3'));
    await eventually(() => expect(taken.lines).toEqual(['a@2', 'b@3']));
  });

  it('is dropped at the end, and nothing is left running', () => {
    const { path, taken } = open(NEVER);
    path.push(seen('a', THEIRS, '1'));
    path.stop();
    expect(taken).toMatchObject({ stopped: true, lines: [] });
  });
});
