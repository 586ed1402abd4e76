// Records that could not be processed: why, where they came from, and their bytes as hex and as text.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../data/answers.ts';
import { useLive } from '../data/live.ts';
import type { ApiPage } from '../data/shapes.ts';
import { figure, since } from '../kit/format.ts';
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

/** The address of the bytes of one record. */
function bytesUrl(place: string): string {
  const [topic = '', partition = '', offset = ''] = place.split('/').map(encodeURIComponent);
  return `/v1/dead-letters?limit=1&topic=${topic}&partition=${partition}&offset=${offset}&fields=error,original_value_base64`;
}

export function DeadLetters(): JSX.Element {
  useTitle('Dead letters');
  const reason = parameter('reason') ?? '';
  const pages = usePages<ApiDeadLetter>(`/v1/dead-letters?limit=100${reason === '' ? '' : `&reason=${encodeURIComponent(reason)}`}`);
  const open = parameter('open');
  const [news, setNews] = useState(0);
  useLive({ types: ['DeadLettered'], onEvent: () => setNews((count) => count + 1), onGap: () => setNews(Infinity) });
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
          <Text>{placeOf(letter)}</Text>
        </button>
      ),
    },
    { name: 'Reason', of: (letter) => <Text>{letter.reason.replaceAll('_', ' ')}</Text> },
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
            <button
              key={one}
              type="button"
              class="chip"
              aria-pressed={reason === one}
              onClick={() => change({ reason: one, open: undefined })}
            >
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
            {since(news)} since: show
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
      {open !== undefined && <Bytes place={open} />}
    </>
  );
}

function Bytes({ place }: { readonly place: string }): JSX.Element {
  const shown = useAnswer<ApiPage<Pick<ApiDeadLetter, 'error' | 'original_value_base64'>>>(bytesUrl(place));
  return (
    <section aria-label="Bytes">
      <h2>
        <Text>{place}</Text>
      </h2>
      <pre>
        <Text>{`turnstream dead-letters show ${place}`}</Text>
      </pre>
      <Waiting shown={shown} of="the bytes">
        {({ items: [letter] }) =>
          letter === undefined ? (
            <Empty>No dead letter has this place.</Empty>
          ) : (
            <>
              <p>
                <Text>{letter.error}</Text>
              </p>
              <pre>{hexOf(letter.original_value_base64 ?? '')}</pre>
            </>
          )
        }
      </Waiting>
    </section>
  );
}
