import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

interface BundleModule {
  readonly freshBundle: () => string | undefined;
  readonly stampOf: (path: string) => unknown;
}

let root: string;
let bundle: BundleModule;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'tether-bundle-'));
  for (const folder of ['cli', 'core', 'dist']) mkdirSync(join(root, folder));
  cpSync(join(import.meta.dirname, '../../cli/bundle.js'), join(root, 'cli/bundle.js'));
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(root, 'core/hash.ts'), 'one');
  writeFileSync(join(root, 'dist/main.js'), '');
  bundle = (await import(pathToFileURL(join(root, 'cli/bundle.js')).href)) as BundleModule;
  writeFileSync(join(root, 'dist/inputs.json'), JSON.stringify([bundle.stampOf('core/hash.ts')]));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('the bundle', () => {
  it('is used while its sources are those that it was made from', () => {
    expect(bundle.freshBundle()).toBe(join(root, 'dist/main.js'));
  });

  it('is passed over once a source has changed', () => {
    writeFileSync(join(root, 'core/hash.ts'), 'two, longer');
    expect(bundle.freshBundle()).toBeUndefined();
  });

  it('is passed over once a source is gone', () => {
    rmSync(join(root, 'core/hash.ts'));
    expect(bundle.freshBundle()).toBeUndefined();
  });

  it('is passed over when nobody noted what it was made from', () => {
    rmSync(join(root, 'dist/inputs.json'));
    expect(bundle.freshBundle()).toBeUndefined();
    writeFileSync(join(root, 'dist/inputs.json'), '[{"path":');
    expect(bundle.freshBundle()).toBeUndefined();
  });
});
