import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { storeError } from './client-errors.ts';

const told = (code: number, message = 'why', type = 'NAME'): ClickHouseError => new ClickHouseError({ code: String(code), message, type });
const of = (error: unknown, writes = true): unknown => storeError('inserting 2 rows into t', error, { writes, where: 'http://host' });

describe('the error for a response of ClickHouse', () => {
  it.each([
    [241, true, 'STORE_FULL'],
    [243, true, 'STORE_FULL'],
    [252, true, 'STORE_FULL'],
    [319, true, 'STORE_FULL'],
    [202, true, 'STORE_UNAVAILABLE'],
    [999, true, 'STORE_UNAVAILABLE'],
    [159, true, 'STORE_UNAVAILABLE'],
    [159, false, 'STORE_REFUSED'],
    [60, true, 'STORE_REFUSED'],
    [516, true, 'STORE_REFUSED'],
  ])('code %i (writes: %s) is %s', (code, writes, expected) => {
    expect(of(told(code), writes)).toMatchObject({ code: expected, context: { clickhouseCode: code } });
  });

  it('is STORE_FULL if the text says that the disk is full', () => {
    expect(of(told(75, 'Cannot write: No space left on device'))).toMatchObject({ code: 'STORE_FULL' });
  });

  it('contains the operation, the address, and the message of ClickHouse', () => {
    expect(of(told(60))).toMatchObject({ message: 'inserting 2 rows into t: ClickHouse at http://host answered NAME (60): why' });
  });

  it('is an outage if there was no response', () => {
    const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
    for (const error of [
      refused,
      new AggregateError([refused]),
      new Error('Timeout error.'),
      new Error('socket hang up'),
      new Error('x', { cause: refused }),
    ]) {
      expect(of(error)).toMatchObject({ code: 'STORE_UNAVAILABLE', retriable: true, cause: error });
    }
  });

  it('is the original error if it is neither from ClickHouse nor from the connection', () => {
    const bug = new TypeError('x is not a function');
    expect(of(bug)).toBe(bug);
    expect(of('text')).toBe('text');
    const ours = new PlatformError('INTERNAL', 'x');
    expect(of(ours)).toBe(ours);
  });
});
