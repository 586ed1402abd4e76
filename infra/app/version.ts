import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder.ts';

/** Version of the package. */
export const version: string = (JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { readonly version: string })
  .version;
