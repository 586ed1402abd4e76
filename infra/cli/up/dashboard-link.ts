// Prints a link to the dashboard once the API reports its address, and opens the dashboard once the API is live.
import { linkWithTicket } from '../../http/tickets.ts';

interface DashboardLinkOptions {
  /** Token of the dashboard; empty if there is none. */
  readonly token: string;
  readonly open: (link: string) => void;
  /** Called with a link that signs a browser in, if there is a token. */
  readonly tell: (link: string) => void;
}

export interface DashboardLink {
  /** To be called with every event of a running `up`. */
  changed(kind: string, fields: Readonly<Record<string, unknown>>): void;
  /** The link to show; empty if no token is needed. */
  readonly text: () => string;
}

export function createDashboardLink({ token, open, tell }: DashboardLinkOptions): DashboardLink {
  let url = '';
  let shown = '';
  let isOpen = false;
  return {
    changed(kind, fields) {
      if (fields['service'] !== 'api') return;
      if (kind === 'listening' && typeof fields['url'] === 'string') {
        url = fields['url'];
        if (token === '') return;
        shown = linkWithTicket(url, token);
        tell(shown);
      } else if (kind === 'status' && fields['state'] === 'live' && url !== '' && !isOpen) {
        isOpen = true;
        // a second ticket, so that the printed link still works
        open(linkWithTicket(url, token));
      }
    },
    text: () => shown,
  };
}
