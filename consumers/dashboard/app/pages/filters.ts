// Filters of the list of trajectories. Each is a parameter of the address, named as in the API.

export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly kind: 'text' | 'number' | readonly string[];
}

export const filters: readonly Filter[] = [
  { name: 'status', label: 'status', kind: ['answered', 'max_turns', 'max_tokens', 'timeout', 'cancelled', 'failed', 'refused'] },
  { name: 'fate', label: 'fate', kind: ['trained', 'collected', 'discarded', 'lost', 'open'] },
  { name: 'purpose', label: 'purpose', kind: ['train', 'eval', 'external'] },
  { name: 'min_reward', label: 'reward ≥', kind: 'number' },
  { name: 'max_reward', label: 'reward ≤', kind: 'number' },
  { name: 'min_turns', label: 'turns ≥', kind: 'number' },
  { name: 'max_turns', label: 'turns ≤', kind: 'number' },
  { name: 'min_tokens', label: 'tokens ≥', kind: 'number' },
  { name: 'max_tokens', label: 'tokens ≤', kind: 'number' },
  { name: 'min_version', label: 'version ≥', kind: 'number' },
  { name: 'max_version', label: 'version ≤', kind: 'number' },
  { name: 'step', label: 'trained in step', kind: 'number' },
  { name: 'min_step', label: 'trained in step ≥', kind: 'number' },
  { name: 'max_step', label: 'trained in step ≤', kind: 'number' },
  { name: 'question', label: 'question has', kind: 'text' },
  { name: 'question_id', label: 'question', kind: 'text' },
  { name: 'group', label: 'group', kind: 'text' },
  { name: 'worker', label: 'worker', kind: 'text' },
  { name: 'attempt', label: 'attempt', kind: 'number' },
  { name: 'tool', label: 'called', kind: 'text' },
  { name: 'tool_status', label: 'call was', kind: ['ok', 'error', 'timeout', 'refused'] },
  { name: 'error_type', label: 'tool error', kind: 'text' },
];

/** The API's sort orders, without the default, finish time. */
const sorts: readonly string[] = ['reward', 'turns', 'tokens'];

/** The filters and sort order of an address, as parameters of the API. */
export function filterQuery(search: URLSearchParams): string {
  const query = new URLSearchParams();
  for (const { name } of filters) {
    const value = search.get(name);
    if (value !== null && value !== '') query.set(name, value);
  }
  const sort = search.get('sort') ?? '';
  if (sorts.includes(sort)) query.set('sort', sort);
  if (search.get('order') === 'asc') query.set('order', 'asc');
  return query.toString();
}
