import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WireReader, WireWriter } from './wire.ts';

describe('the compact encoding', () => {
  it('reads back what it wrote', () => {
    const fields = fc.record({
      short: fc.integer({ min: -32_768, max: 32_767 }),
      int: fc.integer(),
      long: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      text: fc.string({ unit: 'binary', maxLength: 400 }),
      list: fc.array(fc.string(), { maxLength: 300 }),
    });
    fc.assert(
      fc.property(fields, ({ short, int, long, text, list }) => {
        const writer = new WireWriter().int16(short).int32(int).int64(long).string(text).noTags();
        writer.array(list, (item) => writer.string(item)).noTags();
        const reader = new WireReader(writer.toBuffer());
        const read = { short: reader.int16(), int: reader.int32(), long: reader.int64(), text: reader.string() };
        reader.skipTags();
        expect({ ...read, list: reader.array(() => reader.string()) }).toEqual({ short, int, long, text, list });
        reader.skipTags();
        expect(() => reader.int16()).toThrow(RangeError);
      }),
    );
  });

  it('has the bytes of the protocol', () => {
    const writer = new WireWriter().int16(65).string('id').boolean(true);
    writer.array([7], (item) => writer.int32(item)).noTags();
    expect(writer.toBuffer().toString('hex')).toBe('0041' + '036964' + '01' + '02' + '00000007' + '00');
    const long = new WireWriter().string('x'.repeat(300)).toBuffer();
    expect(long.subarray(0, 2).toString('hex')).toBe('ad02');
  });

  it('skips tagged fields that it does not know, and takes null as empty', () => {
    const reader = new WireReader(Buffer.from('02' + '0003616263' + '0100' + '00' + '00' + '0005', 'hex'));
    reader.skipTags();
    expect([reader.string(), reader.array(() => reader.int16()), reader.int16()]).toEqual(['', [], 5]);
  });
});
