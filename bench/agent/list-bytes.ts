import type { RawClient } from './raw-client.ts';

/** What Tether's own lists ask for at a time. */
const PAGE = 500;

/** Bytes of a whole list of each path, as JSON, page by page. */
export async function listBytes(client: RawClient, paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    let next = '';
    do {
      const query = new URLSearchParams({ limit: String(PAGE), ...(next && { continue: next }) });
      const page = await client.read({ method: 'GET', path: `${path}?${query.toString()}` });
      bytes += page.length;
      next = continueToken(page);
    } while (next !== '');
  }
  return bytes;
}

function continueToken(page: Buffer): string {
  const list = JSON.parse(page.toString()) as {
    readonly metadata?: { readonly continue?: string };
  };
  return list.metadata?.continue ?? '';
}
