// Writes the dashboard as Grafana reads it. Run it after a change of a panel: npm run dashboard
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { dashboard } from './dashboard.ts';

const FILE = join(import.meta.dirname, '../helm/tether/files/dashboard.json');

writeFileSync(FILE, await format(JSON.stringify(dashboard()), { parser: 'json', printWidth: 100 }));
