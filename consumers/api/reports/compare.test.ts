import { expect, it } from 'vitest';
import { besideEachOther } from './reports.reader.ts';

it('puts the values of several runs beside each other, differences first', () => {
  const row = (name: string, this_run: string, other_run: string) => ({
    ...{ kind: 'setting', name, this_run, other_run },
    differs: this_run !== other_run,
  });
  const ofB = [row('clip', '0.2', '0.2'), row('seed', '1', '1')];
  const ofC = [row('clip', '0.2', '0.1'), row('seed', '1', '1'), row('only c', '', '5')];
  expect(besideEachOther([ofB, ofC])).toEqual([
    { kind: 'setting', name: 'clip', this_run: '0.2', other_run: '0.2', differs: true, other_runs: ['0.2', '0.1'] },
    { kind: 'setting', name: 'only c', this_run: '', other_run: '', differs: true, other_runs: ['', '5'] },
    { kind: 'setting', name: 'seed', this_run: '1', other_run: '1', differs: false, other_runs: ['1', '1'] },
  ]);
  expect(besideEachOther([ofB]).map(({ other_runs }) => other_runs)).toEqual([['0.2'], ['1']]);
});
