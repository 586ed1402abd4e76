import { expect, it } from 'vitest';
import { createDashboardLink } from './dashboard-link.ts';

const url = 'http://127.0.0.1:8787';
const recorded = (token: string) => {
  const opened: string[] = [];
  const told: string[] = [];
  const link = createDashboardLink({ token, open: (to) => opened.push(to), tell: (to) => told.push(to) });
  return { opened, told, link };
};

it('opens the dashboard once, when the API answers', () => {
  const { opened, told, link } = recorded('');
  link.changed('status', { service: 'api', state: 'live' });
  link.changed('listening', { service: 'api', url });
  link.changed('status', { service: 'trainer', state: 'live' });
  expect(opened).toEqual([]);
  for (let again = 0; again < 2; again += 1) link.changed('status', { service: 'api', state: 'live' });
  expect([opened, told, link.text()]).toEqual([[`${url}/`], [], '']);
});

it('shows a separate link if there is a token, and never the token', () => {
  const token = 'a-token-of-the-dashboard';
  const { opened, told, link } = recorded(token);
  link.changed('listening', { service: 'api', url });
  link.changed('status', { service: 'api', state: 'live' });
  expect(told).toEqual([link.text()]);
  expect(link.text()).toMatch(/\?ticket=/);
  expect(opened[0]).toMatch(/\?ticket=/);
  expect(opened[0]).not.toBe(told[0]);
  expect([...opened, ...told].join()).not.toContain(token);
});
