import { describe, expect, it } from 'vitest';
import { parseOptions, prepare } from './request-options.ts';

const parse = (query: string, headers = {}): ReturnType<typeof parseOptions> => parseOptions(new URL(`http://store/?${query}`), headers);
const how = { id: 'the id', readonly: false, defaults: new Map([['max_threads', '2']]) };

describe('the options of a request', () => {
  it('are split into keys of the interface, parameters, and settings', () => {
    const options = parse(
      'query=select+1&query_id=q&database=d&default_format=CSV&wait_end_of_query=1&enable_http_compression=1&session_id=s&param_a=%27&max_threads=1',
    );
    expect(options).toMatchObject({
      query: 'select 1',
      queryId: 'q',
      database: 'd',
      defaultFormat: 'CSV',
      waitForEnd: true,
      compressResponse: true,
    });
    expect([...options.settings]).toEqual([
      ['enable_http_compression', '1'],
      ['max_threads', '1'],
    ]);
    expect([...options.parameters]).toEqual([['a', "'"]]);
  });

  it('come from headers where the URL has none', () => {
    const headers = { 'x-clickhouse-database': 'h', 'x-clickhouse-format': 'CSV', 'x-clickhouse-query-id': 'q' };
    expect(parse('', headers)).toMatchObject({ query: '', database: 'h', defaultFormat: 'CSV', queryId: 'q' });
    expect(parse('database=u', headers)).toMatchObject({ database: 'u' });
  });

  it('have valid names and no block compression', () => {
    expect(() => parse('a%3B=1')).toThrow(/Unknown setting/);
    expect(() => parse('param_a%20b=1')).toThrow(/not the name of a parameter/);
    expect(() => parse('compress=1')).toThrow(/compress=1/);
    expect(() => parse('decompress=1')).toThrow(/decompress=1/);
    expect(parse('compress=0&decompress=false').query).toBe('');
  });
});

describe('the statements that prepare a session', () => {
  it('are quoted, with readonly last', () => {
    const options = parse("database=d%60&param_x=it's\\&max_threads=1&readonly=1&log_comment=mine");
    expect(prepare(options, how)).toBe(
      "USE `d\\``; SET max_threads = '1', log_comment = 'the id', param_x = 'it\\'s\\\\'; SET readonly = '1'",
    );
  });

  it('make it read-only for GET, which readonly=0 does not change', () => {
    expect(prepare(parse(''), { ...how, readonly: true })).toBe("SET max_threads = '2', log_comment = 'the id'; SET readonly = '2'");
    expect(prepare(parse('readonly=0'), { ...how, readonly: true })).toMatch(/SET readonly = '2'$/);
    expect(prepare(parse('readonly=1'), { ...how, readonly: true })).toMatch(/SET readonly = '1'$/);
    expect(prepare(parse('readonly=0'), how)).not.toMatch(/readonly/);
  });
});
