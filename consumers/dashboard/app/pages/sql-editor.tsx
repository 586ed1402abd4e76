// The editor of a statement: a plain text area with a list of completions for the current word.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { complete, completionsFor, type ApiTable, type CompletionAt } from './sql-complete.ts';

interface SqlEditorProps {
  readonly text: string;
  readonly tables: readonly ApiTable[];
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
}

const none: CompletionAt = { from: 0, found: [] };

export function SqlEditor({ text, tables, onText, onRun }: SqlEditorProps): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const [offered, setOffered] = useState(none);
  const [at, setAt] = useState(0);
  const caret = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    // the caret goes after the inserted text
    if (caret.current !== undefined) field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  }, [text]);
  const offer = (typed: string): void => {
    setOffered(completionsFor(typed, field.current?.selectionStart ?? typed.length, tables));
    setAt(0);
  };
  const take = (chosen: string | undefined): void => {
    setOffered(none);
    if (chosen === undefined) return;
    const done = complete(text, field.current?.selectionStart ?? text.length, { from: offered.from, chosen });
    caret.current = done.caret;
    onText(done.text);
    field.current?.focus();
  };
  const isOpen = offered.found.length > 0;
  const step = (by: number): void => setAt((at + by + offered.found.length) % offered.found.length);
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Tab: () => take(offered.found[at]?.text),
    Enter: () => take(offered.found[at]?.text),
    Escape: () => setOffered(none),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isCommand = event.ctrlKey || event.metaKey;
    const known = isOpen && !isCommand && !event.shiftKey ? keys[event.key] : undefined;
    const act = isCommand && event.key === 'Enter' ? onRun : isCommand && event.key === ' ' ? () => offer(text) : known;
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return (
    <div class="editor">
      <textarea
        ref={field}
        aria-label="Statement"
        aria-autocomplete="list"
        aria-controls="completions"
        aria-activedescendant={isOpen ? `completion-${at}` : undefined}
        rows={Math.min(24, Math.max(6, text.split('\n').length + 1))}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          onText(event.currentTarget.value);
          offer(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setOffered(none)}
      />
      <ul id="completions" class="completions" role="listbox" aria-label="Completions" hidden={!isOpen}>
        {offered.found.map((one, place) => (
          <li
            key={one.text}
            id={`completion-${place}`}
            role="option"
            aria-selected={place === at}
            // a click would take the focus away from the field first
            onMouseDown={(event) => {
              event.preventDefault();
              take(one.text);
            }}
          >
            {one.text} <small>{one.note}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}
