// Writes the types of the clients in infra/clients from the API's OpenAPI document. `--check` fails when a committed file differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { testApi } from '../testing/api.ts';
import { createFakeStore } from '../testing/fake-store.ts';
import { pythonTypes, typescriptTypes, type ApiDocument } from './client-types.ts';

const server = await testApi({ store: createFakeStore() });
const document = (await server.app.inject('/openapi.json')).json<ApiDocument>();
await server.close();
const made: Readonly<Record<string, string>> = {
  'infra/clients/python/turnstream/models.py': pythonTypes(document),
  'infra/clients/typescript/schemas.ts': typescriptTypes(document),
};
for (const [path, text] of Object.entries(made)) {
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text);
  } else if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${path} differs from the OpenAPI document: run npm run generate:reference\n`);
    process.exitCode = 1;
  }
}
