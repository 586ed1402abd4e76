import { useEffect } from 'preact/hooks';
import { visible } from '../kit/visible.ts';

/** Sets the title of the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${visible(title)} · turnstream`;
  }, [title]);
}
