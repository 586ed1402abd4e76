// Builds the dashboard: one document, hashed files, no inline script or style, nothing from another host.
import { resolve } from 'node:path';
import { defineConfig } from 'vite';

const root = process.cwd();

export default defineConfig({
  root: resolve(root, 'consumers/dashboard/app'),
  base: '/',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: resolve(root, 'dist/dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // names the files of each page, which the server announces with the document
    manifest: 'manifest.json',
    reportCompressedSize: false,
    // one file for the small modules that pages share: a browser opens only six connections
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'kit',
              test: /\/preact\/|\/app\/(?:kit|shell|data|charts\/colors|pages\/(?:pages-of|regex-switch|texts))/,
            },
          ],
        },
      },
    },
  },
});
