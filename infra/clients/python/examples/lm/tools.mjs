// The tools of the task, for turnstream's workers: the same as in task.py.
import { readFileSync } from 'node:fs';

const [, ...lines] = readFileSync(new URL('facts.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');
const facts = new Map(lines.map((line) => line.split('\t')).map(([country, capital, domain]) => [country, { capital, domain }]));

function calculate(text) {
  const [, left, sign, right] = /^(-?\d{1,6}) ?([+-]) ?(\d{1,6})$/.exec(text) ?? [];
  if (sign === undefined) return 'error';
  return String(sign === '+' ? Number(left) + Number(right) : Number(left) - Number(right));
}

function lookUp(text) {
  const at = text.indexOf(' of ');
  return facts.get(text.slice(at + 4))?.[text.slice(0, at)] ?? 'nothing';
}

const tool = (name, usage, call) => ({ name, usage, call: async (input) => ({ status: 'ok', text: call(input) }) });

// agents always have search and access, but the prompt of this task does not mention them
export default () => [
  tool('calc', '<calc> 17+25 </calc> adds or subtracts two numbers.', calculate),
  tool('look', '<look> capital of Austria </look> looks up a capital or an internet domain.', lookUp),
  ...['search', 'access'].map((name) => tool(name, '', () => 'nothing')),
];
