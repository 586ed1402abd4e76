import avro from 'avsc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PackedFloats, PackedWholes } from './packed.ts';

const written = (items: 'int' | 'float', values: readonly number[]): Buffer =>
  Buffer.concat([Buffer.alloc(3, 0xff), avro.Type.forSchema({ type: 'array', items }).toBuffer([...values]), Buffer.from('more')]);
const whole = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.nat(300), fc.integer({ min: 0, max: 151_000 }));

it('copies all or the first few of the numbers that Avro wrote, and changes nothing else', () => {
  fc.assert(
    fc.property(fc.array(whole, { maxLength: 90 }), fc.array(fc.float(), { maxLength: 90 }), fc.nat(90), (wholes, floats, some) => {
      const [ids, numbers] = [new PackedWholes(written('int', wholes), 3), new PackedFloats(written('float', floats), 3)];
      expect([ids.length, numbers.length]).toEqual([wholes.length, floats.length]);
      const [counts, room] = [[Math.min(some, ids.length), Math.min(some, numbers.length)] as const, 100];
      const [into, places] = [new Int32Array(room).fill(7), new Float32Array(room).fill(7)];
      ids.copyTo(into, 5, counts[0]);
      numbers.copyTo(places, 5, counts[1]);
      const expected = (values: readonly number[], count: number): readonly number[] =>
        Object.assign(new Array<number>(room).fill(7), Object.fromEntries(values.slice(0, count).map((value, at) => [at + 5, value])));
      expect([...into]).toEqual(expected(wholes, counts[0]));
      expect([...places]).toEqual(expected(floats, counts[1]));
    }),
  );
});
