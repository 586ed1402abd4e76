// The frame of every page: navigation, the state of the live stream, shortcuts, and the page itself, which is loaded when first opened.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { away, locked } from '../data/answers.ts';
import { liveState } from '../data/live.ts';
import { Text } from '../kit/parts.tsx';
import { Empty, Loading } from '../kit/states.tsx';
import { commonKeys } from './common-keys.ts';
import { isField, onKey, useKeys } from './keys.ts';
import { KeyHelp, helpOpen } from './key-help.tsx';
import { Notice } from './notice.tsx';
import { Palette, paletteOpen } from './palette.tsx';
import { failed, loaded, openPage, pageAt } from './page-loader.ts';
import { matchPath } from './patterns.ts';
import { followLinks, go, goToParent, place } from './place.ts';
import { SignIn } from './sign-in.tsx';
import { SignOut } from './sign-out.tsx';

function CurrentPage(): JSX.Element {
  const { pathname } = place.value;
  const found = pageAt(pathname);
  const key = found?.path ?? '';
  useEffect(openPage, [pathname]);
  if (found === undefined) {
    return (
      <Empty>
        <h1>No such page</h1>
        <p>
          Nothing is at this address. <a href="/">All runs</a>
        </p>
      </Empty>
    );
  }
  const View = loaded.value.get(key);
  if (View !== undefined) return <View parts={found.parts} key={JSON.stringify([key, found.parts['run']])} />;
  if (failed.value === key) return <Empty>This page could not be loaded. Reload when the API is back.</Empty>;
  return <Loading of="the page" />;
}

const liveTexts = { off: 'not following', connecting: 'connecting', live: 'live', away: 'reconnecting' } as const;

/** Path, name, and whether the page belongs to a run. */
const mainPages = [
  ['/', 'Runs', false],
  ['/compare', 'Compare', false],
  ['/evaluations', 'Evaluations', false],
  ['/live', 'Live', true],
  ['/search', 'Search', true],
  ['/sql', 'SQL', false],
  ['/dead-letters', 'Dead letters', false],
] as const;

function Header(): JSX.Element {
  const run = matchPath('/runs/:run', place.value.pathname.split('/').slice(0, 3).join('/'))?.['run'];
  const here = place.value.pathname;
  return (
    <header class="top">
      <a class="brand" href="/">
        turnstream
      </a>
      <nav aria-label="Main">
        {mainPages.map(([path, name, keepsRun]) => (
          <a
            key={path}
            href={keepsRun && run !== undefined ? `${path}?run=${encodeURIComponent(run)}` : path}
            aria-current={here === path ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {run !== undefined && (
        <a class="where" href={`/runs/${encodeURIComponent(run)}`}>
          <Text>{run}</Text>
        </a>
      )}
      <span class="grow" />
      {away.value ? (
        <span class="badge bad" role="status">
          ✕ API away, asking again
        </span>
      ) : (
        <span class={`live ${liveState.value}`} title="The live stream of events">
          <span aria-hidden="true">{liveState.value === 'live' ? '●' : '○'}</span> {liveTexts[liveState.value]}
        </span>
      )}
      <button type="button" class="quiet" onClick={() => (paletteOpen.value = true)} title="Go anywhere">
        <kbd>Ctrl K</kbd>
      </button>
      <button type="button" class="quiet" onClick={() => (helpOpen.value = true)} title="Keys of this page" aria-label="Keys of this page">
        <kbd>?</kbd>
      </button>
      <SignOut />
    </header>
  );
}

function goUp(): void {
  if (helpOpen.value || paletteOpen.value) {
    helpOpen.value = false;
    paletteOpen.value = false;
    return;
  }
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && isField(focused)) focused.blur();
  else goToParent();
}

/** Opens a page of the current run. */
function toRun(page: string): () => void {
  return () => {
    const run = place.peek().pathname.split('/')[2];
    go(run === undefined || !place.peek().pathname.startsWith('/runs/') ? '/' : `/runs/${run}${page}`);
  };
}

export function App(): JSX.Element {
  useKeys('Everywhere', [
    { keys: ['?'], does: 'Keys of this page', run: () => (helpOpen.value = true) },
    { keys: ['Ctrl k'], does: 'Go anywhere', run: () => (paletteOpen.value = true) },
    { keys: ['Escape'], does: 'Close, leave a field, or up one level', run: goUp },
    { keys: ['g r'], does: 'Runs', run: () => go('/') },
    { keys: ['g o'], does: 'Overview of the run', run: toRun('') },
    { keys: ['g c'], does: 'Curves of the run', run: toRun('/curves') },
    { keys: ['g s'], does: 'Steps of the run', run: toRun('/steps') },
    { keys: ['g t'], does: 'Trajectories of the run', run: toRun('/trajectories') },
    { keys: ['g f'], does: 'Flow of the run', run: toRun('/flow') },
    { keys: ['g q'], does: 'Questions of the run', run: toRun('/questions') },
    { keys: ['g d'], does: 'Kept against dropped', run: toRun('/dropped') },
    { keys: ['g w'], does: 'Workers of the run', run: toRun('/workers') },
    { keys: ['g h'], does: 'Tools of the run', run: toRun('/tools') },
    { keys: ['g a'], does: 'Advisories of the run', run: toRun('/advisories') },
    { keys: ['g l'], does: 'Live', run: () => go('/live') },
    { keys: ['g e'], does: 'Evaluations', run: () => go('/evaluations') },
    { keys: ['g x'], does: 'SQL', run: () => go('/sql') },
    ...commonKeys,
  ]);
  useEffect(() => {
    addEventListener('keydown', onKey);
    addEventListener('click', followLinks);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('click', followLinks);
    };
  }, []);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {locked.value ? <SignIn /> : <CurrentPage />}
      </main>
      <KeyHelp />
      <Palette />
      <Notice />
    </>
  );
}
