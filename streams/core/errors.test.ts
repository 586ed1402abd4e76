import { describe, expect, it } from 'vitest';
import { errorCodes, isErrorCode, isPlatformError, PlatformError } from './errors.ts';

const entries = Object.entries(errorCodes);
const codesWith = (holds: (kind: (typeof entries)[number][1]) => boolean) =>
  entries.filter(([, kind]) => holds(kind)).map(([code]) => code);

describe('the table of error codes', () => {
  it('marks only retriable codes as outages', () => {
    expect(codesWith(({ outage, retriable }) => outage === true && !retriable)).toEqual([]);
  });

  it('marks no outage and no retriable code as final', () => {
    expect(codesWith(({ final, retriable, outage }) => final === true && (retriable || outage === true))).toEqual([]);
  });

  it('lists the outages, and has one code for a trainer that another one replaced', () => {
    const outages = ['KAFKA_UNAVAILABLE', 'LOG_CUT', 'REGISTRY_UNAVAILABLE', 'STORE_UNAVAILABLE', 'STORE_FULL'];
    expect(codesWith(({ outage }) => outage === true)).toEqual(outages);
    expect(codesWith(({ exit }) => exit === 'fenced')).toEqual(['PRODUCER_FENCED']);
  });

  it('recognizes its own codes, and no property name that every object has', () => {
    expect(isErrorCode('NOT_FOUND')).toBe(true);
    expect(['toString', 'ENOENT', undefined, 7].map(isErrorCode)).toEqual([false, false, false, false]);
    expect(isPlatformError(Object.assign(new Error('x'), { code: 'constructor' }))).toBe(false);
    expect(isPlatformError(new PlatformError('NOT_FOUND', 'x'), 'NOT_FOUND')).toBe(true);
  });
});
