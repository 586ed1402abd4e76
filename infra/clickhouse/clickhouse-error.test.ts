import { describe, expect, it } from 'vitest';
import { failureOf, ClickHouseFailure } from './clickhouse-error.ts';

describe("the engine's errors", () => {
  it('are read from their text', () => {
    const failure = failureOf(new Error("Code: 60. DB::Exception: Unknown table 'x'. (UNKNOWN_TABLE)"));
    expect(failure).toMatchObject({ code: 60, codeName: 'UNKNOWN_TABLE', message: "Unknown table 'x'.", httpStatus: 404 });
    expect(failure.text('26.7')).toBe("Code: 60. DB::Exception: Unknown table 'x'. (UNKNOWN_TABLE) (version 26.7)\n");
    expect(failureOf(failure)).toBe(failure);
  });

  it('are reported once when the engine nests them', () => {
    const nested =
      'Code: 73. DB::Exception: Code: 73. DB::Exception: Unknown format x. (UNKNOWN_FORMAT) (version 26.7.2.1). (UNKNOWN_FORMAT) (version 26.7.2.1). (UNKNOWN_FORMAT)';
    expect(failureOf(new Error(nested)).text('26')).toBe('Code: 73. DB::Exception: Unknown format x. (UNKNOWN_FORMAT) (version 26)\n');
  });

  it('keep parentheses that do not contain an error name', () => {
    expect(failureOf(new Error('Code: 6. DB::Exception: Cannot parse (at row 1)\n. (CANNOT_PARSE_TEXT)'))).toMatchObject({
      message: 'Cannot parse (at row 1)\n.',
    });
  });

  it('have the code of an unknown exception when they are not from the engine', () => {
    expect(failureOf(new Error('boom'))).toMatchObject({ code: 1002, codeName: 'UNKNOWN_EXCEPTION', httpStatus: 500 });
    expect(failureOf('text')).toMatchObject({ code: 1002, message: 'text' });
  });

  it.each([
    ['SYNTAX_ERROR', 400],
    ['AUTHENTICATION_FAILED', 403],
    ['UNKNOWN_DATABASE', 404],
    ['TIMEOUT_EXCEEDED', 408],
    ['QUERY_IS_TOO_LARGE', 413],
    ['NOT_IMPLEMENTED', 501],
    ['TOO_MANY_SIMULTANEOUS_QUERIES', 503],
    ['MEMORY_LIMIT_EXCEEDED', 500],
  ])('%s has status %i', (name, status) => {
    expect(new ClickHouseFailure(1, name, '').httpStatus).toBe(status);
  });
});
