import { expect, it } from 'vitest';
import { openCommand, type DesktopOptions } from './open-browser.ts';

const url = 'http://127.0.0.1:8787/?ticket=a&b';
const desktop: DesktopOptions = { env: { DISPLAY: ':0' }, platform: 'linux', terminal: true, wanted: true };
const commandOf = (changed: Partial<DesktopOptions>) => openCommand(url, { ...desktop, ...changed })?.command;

it('opens the address on each desktop', () => {
  expect(openCommand(url, desktop)).toEqual({ command: 'xdg-open', args: [url] });
  expect(commandOf({ env: { WAYLAND_DISPLAY: 'wayland-0' } })).toBe('xdg-open');
  expect(commandOf({ env: {}, platform: 'darwin' })).toBe('open');
  expect(openCommand(url, { ...desktop, platform: 'win32' })?.args.at(-1)).toBe(url);
});

it.each([
  ['without a desktop', { env: {} }],
  ['in CI', { env: { DISPLAY: ':0', CI: 'true' } }],
  ['over SSH', { env: { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }, platform: 'darwin' }],
  ['without a terminal', { terminal: false }],
  ['when it is turned off', { wanted: false }],
] as const)('opens nothing %s', (_, changed) => {
  expect(commandOf(changed)).toBeUndefined();
});
