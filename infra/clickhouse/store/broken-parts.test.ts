import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClickHouseFailure } from '../clickhouse-error.ts';
import { openBrokenParts } from './broken-parts.ts';

const PART = 'store/0dd/0dda12cf-fb7f-4e5f-aac9-f90664136655/202611_148_168_1';

let data = '';
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'turnstream-test-parts-'));
  mkdirSync(join(data, PART), { recursive: true });
});
afterEach(() => {
  rmSync(data, { recursive: true, force: true });
});

const opened = () => openBrokenParts(data, join(data, 'broken-parts.json'));
const failure = (codeName: string, message: string) => new ClickHouseFailure(1, codeName, message);
const unreadable = (part = PART) =>
  failure('CANNOT_READ_ALL_DATA', `Cannot read all marks from file ${data}/${part}/skp_idx_place.cmrk4, marks expected 1, marks read 0`);

describe('a broken part', () => {
  it('is found in the failure of the statement that read it, once, also by the next process', () => {
    const parts = opened();
    expect(parts.foundIn(unreadable())).toBe(PART);
    expect(parts.foundIn(unreadable())).toBeUndefined();
    expect(opened().foundIn(unreadable())).toBeUndefined();
  });

  it('is one that exists, and that the engine could not read', () => {
    const parts = opened();
    expect(parts.foundIn(unreadable(PART.replace('148', '149')))).toBeUndefined();
    expect(parts.foundIn(failure('FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', unreadable().message))).toBeUndefined();
    expect(parts.foundIn(failure('CANNOT_READ_ALL_DATA', 'Cannot read all data. Bytes read: 0. Bytes expected: 4.'))).toBeUndefined();
  });
});

it('does not restart the store when it cannot note the part', () => {
  const file = join(data, 'folder');
  mkdirSync(file);
  expect(openBrokenParts(data, file).foundIn(unreadable())).toBeUndefined();
});
