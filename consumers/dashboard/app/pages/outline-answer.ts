// The outline of an attempt. A long one is requested in two steps: its first turns, which are shown at once, and then the whole.
import { useMemo } from 'preact/hooks';
import { firstOutlineUrl, outlineUrl } from '../data/addresses.ts';
import { isSettled, useAnswer, type Loadable } from '../data/answers.ts';
import type { ApiOutline } from '../data/shapes.ts';
import { usePainted } from '../kit/painted.ts';
import { place } from '../shell/place.ts';

/** The whole outline, or its first turns until the whole has arrived. */
export interface ShownOutline extends Loadable<ApiOutline> {
  /** True once nothing more is requested, or a request has failed. */
  readonly isSettled: boolean;
}

export function useOutline(run: string, id: string, attempt: number): ShownOutline {
  const whole = outlineUrl(run, id, attempt);
  // chosen once: otherwise the whole would be requested again when the reader selects a later turn
  const url = useMemo(() => firstOutlineUrl(whole, place.peek().searchParams), [whole]);
  const first = useAnswer<ApiOutline>(url);
  const isPart = url !== whole && first.value?.is_whole === false;
  const isPainted = usePainted(isSettled(first));
  const rest = useAnswer<ApiOutline>(isPart && isPainted ? whole : undefined);
  return { value: rest.value ?? first.value, problem: rest.problem ?? first.problem, isSettled: isSettled(isPart ? rest : first) };
}
