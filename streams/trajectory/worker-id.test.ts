import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incarnationId, incarnationOf } from './worker-id.ts';

describe('the id of a worker that is replaced', () => {
  it('names its place and its number', () => {
    const place = fc.stringMatching(/^[a-z0-9.~-]{1,20}$/);
    fc.assert(
      fc.property(place, fc.nat(), fc.constantFrom('', '-latency-model'), (name, number, mark) => {
        expect(incarnationOf(`${incarnationId({ place: name, number })}${mark}`)).toEqual({ place: name, number });
      }),
    );
  });

  it('is not confused with other ids', () => {
    expect(incarnationOf('worker-1-host-1a2b3c4d')).toBeUndefined();
    expect(incarnationOf('')).toBeUndefined();
  });
});
