import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the nearest package.json: the code runs from the source and from dist/. */
export const packageFolder: string = folderAbove(dirname(fileURLToPath(import.meta.url)));

/** Where `npm run build` puts the dashboard. */
export const dashboardFolder: string = join(packageFolder, 'dist', 'dashboard');

function folderAbove(from: string): string {
  if (existsSync(join(from, 'package.json')) || dirname(from) === from) return from;
  return folderAbove(dirname(from));
}
