import type { JSX } from 'preact';
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { keyGroups } from './keys.ts';

export const helpOpen = signal(false);

/** Lists the shortcuts that are active now. */
export function KeyHelp(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} tabIndex={0} aria-label="Keys" onClose={() => (helpOpen.value = false)} onClick={() => (helpOpen.value = false)}>
      {[...keyGroups.value].reverse().map(({ title, bindings }) => (
        <section key={title}>
          <h2>{title}</h2>
          <dl class="keys">
            {bindings.map(({ keys, does }) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}
