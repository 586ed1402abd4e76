// The contract of every log, for the in-memory one and for Kafka.
import { groupsContract } from './groups.contract.ts';
import type { LogUnderTest } from './log-under-test.ts';
import { readingContract } from './reading.contract.ts';
import { transactionsContract } from './transactions.contract.ts';
import { writingContract } from './writing.contract.ts';

/** `make` is called once; tests distinguish their records by id. */
export function logContract(backend: string, make: () => Promise<LogUnderTest>): void {
  let made: Promise<LogUnderTest> | undefined;
  const open = (): Promise<LogUnderTest> => (made ??= make());

  writingContract(backend, open);
  transactionsContract(backend, open);
  readingContract(backend, open);
  groupsContract(backend, open);
}
