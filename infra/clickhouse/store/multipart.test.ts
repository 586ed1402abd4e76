import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMultipart } from './multipart.ts';

const form = (fields: Record<string, string>): Buffer =>
  Buffer.from(
    [
      ...Object.entries(fields).map(([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
      '--B--\r\n',
    ].join(''),
  );
const type = 'multipart/form-data; boundary=B';

describe('multipart forms', () => {
  it('preserve any text that does not contain the boundary', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (query, x) => {
        fc.pre(!`${query}${x}`.includes('--B'));
        expect([...parseMultipart(form({ query, param_x: x }), type)]).toEqual([
          ['query', query],
          ['param_x', x],
        ]);
      }),
    );
  });

  it('are refused when they are malformed or contain files', () => {
    expect(() => parseMultipart(form({ a: 'b' }), 'multipart/form-data')).toThrow(/boundary/);
    expect(() => parseMultipart(form({ a: 'b' }).subarray(0, -8), type)).toThrow(/no end/);
    expect(() => parseMultipart(Buffer.from('--B\r\n\r\nx\r\n--B--'), type)).toThrow(/no name/);
    expect(() =>
      parseMultipart(Buffer.from('--B\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--B--'), type),
    ).toThrow(/External tables/);
  });
});
