// Requests data again at an interval, because a run that stalls writes no events that would cause a reload.
import { useEffect } from 'preact/hooks';
import { refresh } from './answers.ts';

const EVERY_MS = 15_000;

/** Reloads an address every 15 s while the component is mounted and its tab is visible. */
export function usePolled(address: string): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) refresh(address);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [address]);
}
