import { expect, it } from 'vitest';
import { asTyped } from './as-typed.ts';

const TEXT =
  'Usage: turnstream sql [options]\n\n`turnstream serve` opens it.\n\nExamples:\n  $ turnstream sql -q "select \'turnstream x\'"\n';

it('leaves commands as they are where the program is on the path', () => {
  expect(asTyped(TEXT, {})).toBe(TEXT);
});

it('shows commands with npx where npm started the program, and changes nothing else', () => {
  expect(asTyped(TEXT, { npm_command: 'exec' })).toBe(
    'Usage: npx turnstream sql [options]\n\n`npx turnstream serve` opens it.\n\nExamples:\n  $ npx turnstream sql -q "select \'turnstream x\'"\n',
  );
});
