// Records that could not be processed: why, where they came from, and their bytes as hex and as text.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiPage } from '../data/shapes.ts';
import { figure } from '../kit/format.ts';
import { Text, When } from '../kit/parts.tsx';
import { Empty, Failed, Loading, Waiting } from '../kit/states.tsx';
import { Table, type TableColumn } from '../kit/table.tsx';
import { useKeys } from '../shell/keys.ts';
import { change, parameter } from '../shell/place.ts';
import { useTitle } from '../shell/title.ts';
import { hexOf } from './texts.ts';
import { usePages } from './pages-of.ts';

interface ApiDeadLetter {
  readonly original_topic: string;
  readonly original_partition: number;
  readonly original_offset: number;
  readonly original_value_bytes: number;
  readonly original_value_base64?: string;
  readonly step: string;
  readonly reason: string;
  readonly error: string;
  readonly run_id: string;
  readonly occurred_at: string | null;
}

const reasons = ['empty', 'not_framed', 'unknown_schema', 'incompatible_schema', 'undecodable', 'wrong_topic', 'refused'] as const;
const placeOf = (letter: ApiDeadLetter): string => `${letter.original_topic}/${letter.original_partition}/${letter.original_offset}`;

export function DeadLetters(): JSX.Element {
  useTitle('Dead letters');
  const reason = parameter('reason') ?? '';
  const pages = usePages<ApiDeadLetter>(`/v1/dead-letters?limit=100${reason === '' ? '' : `&reason=${encodeURIComponent(reason)}`}`);
  const open = parameter('open');
  const [news, setNews] = useState(0);
  useLive({ types: ['DeadLettered'], onEvent: () => setNews((count) => count + 1) });
  const at = pages.items.findIndex((letter) => placeOf(letter) === open);
  const step = (by: number): void => {
    const next = pages.items[Math.max(0, Math.min(pages.items.length - 1, at + by))];
    if (next !== undefined) change({ open: placeOf(next) });
  };
  useKeys('Dead letters', [
    { keys: ['j', 'ArrowDown'], does: 'Next', run: () => step(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous', run: () => step(-1) },
  ]);
  const columns: readonly TableColumn<ApiDeadLetter>[] = [
    {
      name: 'Record',
      of: (letter) => (
        <button
          type="button"
          class="chip"
          aria-pressed={placeOf(letter) === open}
          onClick={() => change({ open: placeOf(letter) === open ? undefined : placeOf(letter) })}
        >
          {placeOf(letter)}
        </button>
      ),
    },
    { name: 'Reason', of: (letter) => letter.reason.replaceAll('_', ' ') },
    { name: 'Step', of: (letter) => <Text>{letter.step}</Text> },
    { name: 'Error', of: (letter) => <Text title>{letter.error.slice(0, 140)}</Text> },
    { name: 'Run', of: (letter) => (letter.run_id === '' ? '–' : <Text>{letter.run_id}</Text>) },
    { name: 'Bytes', number: true, of: (letter) => figure(letter.original_value_bytes) },
    { name: 'When', of: (letter) => <When at={letter.occurred_at} /> },
  ];
  return (
    <>
      <div class="head">
        <h1>Dead letters</h1>
        <div class="chips" role="group" aria-label="Reason">
          {['', ...reasons].map((one) => (
            <button key={one} type="button" class="chip" aria-pressed={reason === one} onClick={() => change({ reason: one })}>
              {one === '' ? 'all' : one.replaceAll('_', ' ')}
            </button>
          ))}
        </div>
        {news > 0 && (
          <button
            type="button"
            class="chip live"
            onClick={() => {
              setNews(0);
              pages.again();
            }}
          >
            {figure(news)} since: show
          </button>
        )}
      </div>
      {pages.problem !== undefined && <Failed problem={pages.problem} />}
      {pages.items.length === 0 &&
        (pages.loading ? (
          <Loading of="the dead letters" />
        ) : (
          pages.problem === undefined && (
            <Empty>No record {reason === '' ? 'was set aside: everything could be processed.' : 'was set aside for this reason.'}</Empty>
          )
        ))}
      {pages.items.length > 0 && <Table label="Dead letters" rows={pages.items} columns={columns} keyOf={placeOf} selected={at} />}
      {!pages.isWhole && (
        <button type="button" class="chip" onClick={pages.more}>
          Earlier
        </button>
      )}
      {pages.items[at] !== undefined && <Bytes letter={pages.items[at]} />}
    </>
  );
}

function Bytes({ letter }: { readonly letter: ApiDeadLetter }): JSX.Element {
  const fields = 'original_topic,original_partition,original_offset,original_value_base64';
  const shown = useAnswer<ApiPage<ApiDeadLetter>>(`/v1/dead-letters?limit=1000&reason=${letter.reason}&fields=${fields}`);
  return (
    <section aria-label="Bytes">
      <h2>{placeOf(letter)}</h2>
      <p>
        <Text>{letter.error}</Text>
      </p>
      <pre>{`turnstream dead-letters show ${placeOf(letter)}`}</pre>
      <Waiting shown={shown} of="the bytes">
        {({ items }) => {
          const found = items.find((one) => placeOf(one) === placeOf(letter))?.original_value_base64;
          return found === undefined ? (
            <Empty>Its bytes are not among the newest records; the command above shows them.</Empty>
          ) : (
            <pre>{hexOf(found)}</pre>
          );
        }}
      </Waiting>
    </section>
  );
}
