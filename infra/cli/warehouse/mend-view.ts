// Formats the output of `turnstream warehouse mend`.
import type { SurveyedPartition } from '../../../consumers/warehouse/mend.ts';

const whatOf = ({ state, mend, first }: SurveyedPartition, done: boolean): string => {
  if (mend === undefined) return '';
  const at = mend.goOnAt < 0 ? 'after the last offset in the tables' : `at ${mend.goOnAt}`;
  const goes = done ? 'the sink continues' : 'the sink would continue';
  if (state === 'head-cut') {
    return `${mend.skipped} offsets up to ${first - 1} left the log before they were stored; they ${done ? 'were' : 'would be'} skipped, and ${goes} ${at}`;
  }
  return `the log and the tables differ from ${mend.removeFrom} on; rows from there ${done ? 'were' : 'would be'} removed, and ${goes} ${at}`;
};

/** One line per partition to mend, and the next action. */
export function renderMend(partitions: readonly SurveyedPartition[], done: boolean): string {
  const wrong = partitions.filter(({ mend }) => mend !== undefined);
  if (wrong.length === 0) return `${partitions.length} partitions, nothing to mend\n`;
  const lines = wrong.map((one) => {
    const { topic, partition, committed, first, end, held } = one;
    return `${topic}/${partition}  committed ${committed}, log ${first} to ${end}, tables up to ${held}: ${whatOf(one, done)}\n`;
  });
  const next = done
    ? 'Start the sink; `turnstream audit` compares the log with the tables.\n'
    : 'Nothing was changed. `turnstream warehouse mend --yes` makes these changes.\n';
  return lines.join('') + next;
}
