import { holdingsContract } from '../../infra/testing/holdings.contract.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';

holdingsContract('in memory', async () => {
  const store = new MemoryStore();
  return { store, holdings: store.holdings() };
});
