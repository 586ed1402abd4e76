// Columns of the list of trajectories: the fields that each needs, its width, and its content.
import type { ComponentChildren } from 'preact';
import type { ApiTrajectory } from '../data/shapes.ts';
import { duration, figure, versions } from '../kit/format.ts';
import { Badge, Text, When } from '../kit/parts.tsx';

export interface TrajectoryColumn {
  /** Its name in the address. */
  readonly key: string;
  readonly name: string;
  readonly px: number;
  /** The fields of the API that it needs. */
  readonly fields: readonly (keyof ApiTrajectory)[];
  /** The API's sort order for it. */
  readonly sort?: string;
  readonly isNumber?: boolean;
  readonly isHidden?: boolean;
  readonly of: (row: ApiTrajectory) => ComponentChildren;
}

const tookMs = ({ started_at: from, finished_at: to }: ApiTrajectory): number | undefined =>
  from === null || to === null ? undefined : Date.parse(to) - Date.parse(from);

function fateNote({ fate, fate_step: step, fate_reason: reason = '' }: ApiTrajectory): string {
  if (fate === 'trained') return `step ${step ?? ''}`;
  return fate === 'collected' ? `batch ${step ?? ''}` : reason;
}

const number = (key: keyof ApiTrajectory, name: string, more: Partial<TrajectoryColumn> = {}): TrajectoryColumn => ({
  ...{ key, name, px: 66, fields: [key], isNumber: true, of: (row) => figure(row[key]) },
  ...more,
});

const text = (key: 'worker_id' | 'answer' | 'group_id' | 'question_id', name: string): TrajectoryColumn => ({
  ...{ key, name, px: 150, fields: [key], isHidden: true, of: (row) => <Text title>{row[key]}</Text> },
});

/** All columns in order, without the question, which is always shown. */
export const trajectoryColumns: readonly TrajectoryColumn[] = [
  number('reward', 'Reward', { sort: 'reward' }),
  number('f1', 'F1', { px: 52 }),
  number('advantage', 'Advantage', { px: 76, fields: ['fate', 'advantage'], isHidden: true }),
  number('turns', 'Turns', { sort: 'turns' }),
  number('tool_calls', 'Calls', { isHidden: true }),
  number('tool_errors', 'Errors', {
    px: 56,
    of: ({ tool_errors: errors }) => <span class={errors > 0 ? 'bad' : ''}>{figure(errors)}</span>,
  }),
  number('completion_tokens', 'Tokens', { key: 'tokens', sort: 'tokens' }),
  number('prompt_tokens', 'Prompt', { isHidden: true }),
  {
    ...{ key: 'versions', name: 'Versions', px: 92, fields: ['version_first', 'version_last'] },
    of: (row) => versions(row.version_first, row.version_last),
  },
  { key: 'took', name: 'Took', px: 74, fields: ['started_at', 'finished_at'], isNumber: true, of: (row) => duration(tookMs(row)) },
  { key: 'status', name: 'Status', px: 96, fields: ['status'], of: ({ status }) => <Badge state={status} /> },
  { key: 'fate', name: 'Fate', px: 150, fields: ['fate'], of: (row) => <Badge state={row.fate ?? ''} note={fateNote(row)} /> },
  text('answer', 'Answer'),
  text('worker_id', 'Worker'),
  text('group_id', 'Group'),
  text('question_id', 'Question id'),
  {
    ...{ key: 'finished', name: 'Finished', px: 84, fields: ['finished_at'], sort: 'finished_at' },
    of: ({ finished_at }) => <When at={finished_at} />,
  },
  {
    ...{ key: 'id', name: 'Id', px: 200, fields: [] },
    of: ({ trajectory_id: id, attempt }) => (
      <span class="dim">
        <Text>{attempt === 0 ? id : `${id} #${attempt}`}</Text>
      </span>
    ),
  },
];

/** The columns in an address; by default those that are not hidden. */
export function columnsNamed(named: string | undefined): readonly TrajectoryColumn[] {
  if (named === undefined || named === '') return trajectoryColumns.filter(({ isHidden }) => isHidden !== true);
  const keys = named.split(',');
  return trajectoryColumns.filter(({ key }) => keys.includes(key));
}

/** The value in the address for the chosen columns: undefined for the default, `none` for no columns. */
export function nameOfColumns(chosen: readonly TrajectoryColumn[]): string | undefined {
  const name = (columns: readonly TrajectoryColumn[]): string => columns.map(({ key }) => key).join();
  return name(chosen) === name(columnsNamed(undefined)) ? undefined : name(chosen) || 'none';
}

/** The parameter `fields` of the API for these columns. */
export const fieldsOf = (columns: readonly TrajectoryColumn[]): string =>
  [...new Set(['trajectory_id', 'attempt', 'question', ...columns.flatMap(({ fields }) => fields)])].join(',');
