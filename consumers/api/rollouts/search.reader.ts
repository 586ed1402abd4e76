// Turns of a run that contain a text, in order of trajectory, attempt, and turn. A page is read in the order of the table, so that
// the first matches come without reading the rest of the run; arguments and results are searched by the list of tool calls.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { equals, readPage, type ListSpec, type ListPage, type PageRequest } from '../list.ts';
import { holds, partOf, soughtParams, type Sought } from './sought.ts';

export const foundTextColumns = {
  trajectory_id: 'text',
  attempt: 'whole',
  turn: 'whole',
  worker_id: 'text',
  policy_version_max: 'whole',
  text: 'text',
  match: 'text',
  occurred_at: 'time',
} as const;

type FoundText = Omit<RowOf<typeof foundTextColumns>, 'text'> & { readonly offset: number; readonly head: string };

const spec = {
  columns: foundTextColumns,
  key: { trajectory_id: 'String', attempt: 'Int32', turn: 'Int32' },
  direction: 'asc',
} as const satisfies Omit<ListSpec<typeof foundTextColumns>, 'from'>;

const BEFORE = 60;
const HEAD = 240;

export async function searchTexts(
  store: Store,
  run: string,
  { limit, cursor, ...sought }: Pick<PageRequest, 'limit' | 'cursor'> & Sought,
): Promise<ListPage<FoundText>> {
  const where = [...equals('run_id', 'String', run), { sql: holds('text', sought), params: soughtParams(sought) }];
  const page = await readPage(
    store,
    { ...spec, from: `(select *, ${partOf('text', sought)} as match from turns)` },
    { limit, cursor, where },
  );
  return { ...page, items: page.items.map(withHead) };
}

/** The text around the match instead of the whole text. */
function withHead({ text, match, ...row }: RowOf<typeof foundTextColumns>): FoundText {
  const offset = Math.max(0, text.indexOf(match));
  const from = Math.max(0, offset - BEFORE);
  return { ...row, offset, head: text.slice(from, from + HEAD), match: match.slice(0, HEAD) };
}
