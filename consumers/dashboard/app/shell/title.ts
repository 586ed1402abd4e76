import { useEffect } from 'preact/hooks';

/** Names the page in the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · turnstream`;
  }, [title]);
}
