// The live stream: one connection for the current page, closed while the tab is hidden. Events only say that something changed; the page
// then requests the affected data again. A tab that was hidden for long is not sent what it missed: it requests all of its data.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refresh } from './answers.ts';
import type { LiveEvent } from './live-shapes.ts';
import { createReloads } from './reload-after.ts';

export type LiveState = 'off' | 'connecting' | 'live' | 'away';
export const liveState = signal<LiveState>('off');
/** Streams of this page that are open or connecting. */
let streams = 0;

/** Wait after the API refused the stream, for example because too many are open. */
const AGAIN_MS = 3_000;

/** A tab that was hidden for a shorter time is sent what it missed, ms. */
const RESUMES_MS = 60_000;

interface LiveSubscription {
  readonly run?: string | undefined;
  readonly types: readonly string[];
  /** Addresses to reload after an event, either for all events or by type. */
  readonly refreshes?: readonly string[] | Readonly<Record<string, readonly string[]>>;
  /** Whether to handle an event; all are handled by default. */
  readonly concerns?: (event: LiveEvent) => boolean;
  readonly onEvent?: (event: LiveEvent) => void;
  /** Called when events were missed: the log no longer has them, this reader was too slow, or its tab was hidden. */
  readonly onGap?: (what: string) => void;
  readonly paused?: boolean;
}

/** Receives events while the component is mounted and its tab is visible. */
export function useLive({ run, types, refreshes = [], concerns, onEvent, onGap, paused = false }: LiveSubscription): void {
  const key = JSON.stringify([run, types, refreshes, paused]);
  useEffect(() => {
    if (paused) {
      if (streams === 0) liveState.value = 'off';
      return undefined;
    }
    let counted = false;
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let last = '';
    let hiddenAtMs = Date.now();
    const addressesOf = (type: string): readonly string[] =>
      Array.isArray(refreshes)
        ? (refreshes as readonly string[])
        : ((refreshes as Readonly<Record<string, readonly string[]>>)[type] ?? []);
    const reload = createReloads(refresh);
    const later = (of: readonly string[]): void => reload(of.flatMap(addressesOf));
    const open = (): void => {
      const query = new URLSearchParams({ ...(run === undefined ? {} : { run }), ...(last === '' ? {} : { last_event_id: last }) });
      for (const type of types) query.append('type', type);
      liveState.value = 'connecting';
      source = new EventSource(`/v1/live?${query.toString()}`);
      if (!counted) streams += 1;
      counted = true;
      // a page that saw no event yet resumes from where it connected
      for (const type of ['connected', 'closing', ...types]) {
        source.addEventListener(type, ({ lastEventId }: MessageEvent<string>) => (last = lastEventId));
      }
      source.addEventListener('connected', () => (liveState.value = 'live'));
      source.onerror = () => {
        liveState.value = 'away';
        // an EventSource gives up after an error status, but reconnects after a broken connection
        if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);
      };
      source.onopen = () => (liveState.value = 'live');
      source.addEventListener('gap', () => onGap?.('The log no longer has some of the events before this.'));
      source.addEventListener('fell-behind', () => onGap?.('The page read too slowly; the stream goes on from where it was.'));
      for (const type of types) {
        source.addEventListener(type, (message: MessageEvent<string>) => {
          const event = { id: message.lastEventId, ...(JSON.parse(message.data) as Omit<LiveEvent, 'id'>) };
          if (concerns?.(event) === false) return;
          onEvent?.(event);
          later([type]);
        });
      }
    };
    const close = (): void => {
      clearTimeout(again);
      source?.close();
      source = undefined;
      if (counted) streams -= 1;
      counted = false;
      if (streams === 0) liveState.value = 'off';
    };
    const onVisible = (): void => {
      if (document.hidden) {
        close();
        hiddenAtMs = Date.now();
      } else if (source === undefined) {
        const missed = Date.now() - hiddenAtMs > RESUMES_MS;
        if (missed) last = '';
        open();
        if (missed) onGap?.('Events while this tab was hidden are not listed.');
        later(types);
      }
    };
    if (!document.hidden) open();
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      document.removeEventListener('visibilitychange', onVisible);
      close();
    };
  }, [key]);
}
