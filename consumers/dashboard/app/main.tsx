import { render } from 'preact';
import { App } from './shell/app.tsx';
import { openPage } from './shell/page-loader.ts';

openPage();
const root = document.getElementById('page');
if (root !== null) render(<App />, root);
