import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorCodes, PlatformError, type ErrorCode } from '../../streams/core/errors.ts';
import { answerOf } from './problem.ts';

const codes = Object.keys(errorCodes) as ErrorCode[];

describe('problems', () => {
  it.each(codes)('%s becomes a response that reveals no internals of a server failure', (code) => {
    const { problem, unexpected } = answerOf(new PlatformError(code, 'doing it at http://user:secret@host/'), 'r-1');
    const { httpStatus, retriable } = errorCodes[code];
    expect(problem.request_id).toBe('r-1');
    if (httpStatus < 500) {
      expect(problem).toMatchObject({ code, status: httpStatus, detail: 'doing it at http://user:secret@host/' });
      expect(unexpected).toBe(false);
    } else if (code === 'NOT_READY') {
      expect(problem).toMatchObject({ code, status: 503, detail: 'doing it at http://user:secret@host/' });
    } else {
      expect(problem.code).toBe(retriable ? code : 'INTERNAL');
      expect(JSON.stringify(problem)).not.toContain('secret');
      expect(unexpected).toBe(!retriable);
    }
  });

  it('are INTERNAL for any other thrown value, without its message', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.string().map((text) => new Error(`secret ${text}`)),
        ),
        (thrown) => {
          const { problem, unexpected } = answerOf(thrown, 'r');
          expect(problem).toMatchObject({ status: 500, code: 'INTERNAL' });
          expect(JSON.stringify(problem)).not.toContain('secret');
          expect(unexpected).toBe(true);
        },
      ),
    );
  });

  it.each([
    [400, 'REQUEST_INVALID'],
    [404, 'NOT_FOUND'],
    [413, 'BODY_TOO_LARGE'],
    [415, 'MEDIA_TYPE_UNSUPPORTED'],
    [429, 'RATE_LIMITED'],
    [431, 'REQUEST_INVALID'],
    [500, 'INTERNAL'],
    [200, 'INTERNAL'],
  ])('map the status %d of a framework error to the code %s', (statusCode, code) => {
    expect(answerOf(Object.assign(new Error('x'), { statusCode }), 'r').problem.code).toBe(code);
  });

  it('name every parameter that is wrong', () => {
    const validation = [
      { instancePath: '/limit', keyword: 'maximum', params: { limit: 1000 }, message: 'must be <= 1000' },
      { instancePath: '', keyword: 'additionalProperties', params: { additionalProperty: 'offset' } },
      { instancePath: '', keyword: 'required', params: { missingProperty: 'query' } },
      { instancePath: '/order', keyword: 'enum', params: { allowedValues: ['asc', 'desc'] } },
      { instancePath: '/x', keyword: 'enum', params: {} },
      { instancePath: '', keyword: 'type', params: {} },
    ];
    const { problem } = answerOf(Object.assign(new Error('x'), { validation, validationContext: 'querystring' }), 'r');
    expect(problem.errors).toEqual([
      { parameter: 'limit', message: 'must be <= 1000' },
      { parameter: 'offset', message: 'is not known here' },
      { parameter: 'query', message: 'is missing' },
      { parameter: 'order', message: 'must be one of asc, desc' },
      { parameter: 'x', message: 'is not one of the allowed values' },
      { parameter: '', message: 'is not valid' },
    ]);
    expect(problem.detail).toContain('query parameter limit must be <= 1000');
    expect(answerOf(Object.assign(new Error('x'), { validation }), 'r').problem.detail).toContain('parameter limit');
  });

  it('have headers that say when to retry and how to authenticate', () => {
    expect(answerOf(new PlatformError('RATE_LIMITED', 'x'), 'r').headers).toMatchObject({ 'retry-after': '2' });
    expect(answerOf(new PlatformError('STORE_UNAVAILABLE', 'x'), 'r').headers).toMatchObject({ 'retry-after': '2' });
    expect(answerOf(new PlatformError('UNAUTHENTICATED', 'x'), 'r').headers).toMatchObject({ 'www-authenticate': 'Bearer' });
  });
});
