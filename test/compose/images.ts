import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

// The images that the compose files and infra/Dockerfile name. Their versions are nowhere else, but for those of
// etcd and kube-apiserver: test/controlplane/go.mod has them, too, and test/unit/infra/compose.test.ts compares.

const ROOT = join(import.meta.dirname, '../..');

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly image?: string }>>;
}

/** What a service of one of the compose files is started from. */
export function imageOf(service: string): string {
  for (const path of ['docker-compose.yml', 'infra/compose/base.yml']) {
    const { services } = parse(readFileSync(join(ROOT, path), 'utf8')) as ComposeFile;
    const image = services[service]?.image;
    if (image !== undefined) return image;
  }
  throw new Error(`no compose file has an image for ${service}`);
}

/** What our own image is built on. */
export function baseImage(): string {
  const text = readFileSync(join(ROOT, 'infra/Dockerfile'), 'utf8');
  const image = /^ARG BASE=(\S+)$/m.exec(text)?.[1];
  if (image === undefined) throw new Error('infra/Dockerfile does not say ARG BASE=IMAGE');
  return image;
}
