import type { Observer } from './observer.ts';
import type { Stage } from './stage.ts';

/** One chapter of the demo, in a file of its own in parts/. */
export interface Part {
  readonly title: string;
  /** @throws {DemoError} when something that it shows does not come true. */
  play(scene: Scene): Promise<void>;
}

/** What a part plays on: all of it goes on from where the part before left it. */
export interface Scene {
  readonly stage: Stage;
  /** Watches the sample Service. */
  readonly observer: Observer;
}
