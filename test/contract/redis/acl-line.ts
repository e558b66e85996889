import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../../../docs/redis.md');

/** The rules of the least rights as docs/redis.md gives them, for a prefix and a password. */
export function aclRules(prefix: string, password: string): string[] {
  const [line = ''] = /^ACL SETUSER tether (?:.*\\\n)*.*$/m.exec(readFileSync(DOCS, 'utf8')) ?? [];
  const rules = line.replaceAll('\\\n', ' ').split(/\s+/).slice(3);
  if (rules.length === 0) throw new Error('docs/redis.md gives no ACL');
  return rules.map((rule) => rule.replace('PASSWORD', password).replace('{tether', `{${prefix}`));
}
