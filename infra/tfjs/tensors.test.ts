import { describe, expect, it } from 'vitest';
import { exchangeContract, tensorContract } from '../testing/tensors.contract.ts';
import { loadBackend, type BackendName } from './backend.ts';

// CI installs the native backend before the tests: there, a missing one is a failure; elsewhere, its suites are skipped
const isNativeDue = process.env['CI'] === 'true';
const isNativeHere = await loadBackend('tfjs-node-gpu').then(
  () => true,
  () => false,
);
const names: readonly BackendName[] = isNativeHere ? ['tfjs-node-gpu', 'wasm', 'cpu'] : ['wasm', 'cpu'];

for (const name of names) tensorContract(name);
exchangeContract(names);

describe.skipIf(!isNativeDue && !isNativeHere)('tfjs-node-gpu (skipped: npm run setup:tensorflow installs it)', () => {
  it('loads', () => {
    expect(isNativeHere).toBe(true);
  });
});
