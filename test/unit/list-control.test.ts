import { expect, test } from '@jest/globals';
import { Control } from '../../watcher/list-watch/control.ts';

test('all who ask for a list that does not come wait for the same one, which serves them', async () => {
  const control = new Control();
  const asked = control.askForList();
  for (let times = 0; times < 3; times++) {
    expect(control.askForList()).toBe(asked);
    const list = control.list(() => Promise.reject(new Error('404')));
    await expect(list).rejects.toThrow('404');
  }
  expect(control.askForList()).toBe(asked);
  await control.list(() => Promise.resolve());
  await asked;
  expect(control.listWanted).toBe(false);
});

test('who asks while a list is under way is served by the one that follows it', async () => {
  const control = new Control();
  const before = control.askForList();
  const gate = Promise.withResolvers<void>();
  const listing = control.list(() => gate.promise);
  const meanwhile = control.askForList();
  gate.resolve();
  await Promise.all([listing, before]);
  expect(control.listWanted).toBe(true);
  await control.list(() => Promise.resolve());
  await meanwhile;
  expect(control.listWanted).toBe(false);
});

test('the end of the loop is told to all who wait, and to who asks after it', async () => {
  const control = new Control();
  const asked = [control.askForList(), control.askForList()];
  control.stop();
  for (const one of [...asked, control.askForList()]) {
    await expect(one).rejects.toThrow('the process is stopping');
  }
});
