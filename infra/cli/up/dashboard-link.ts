// Shows the way into the dashboard and opens it once, as the API tells where it listens and that it answers.
import { linkWithTicket } from '../../http/tickets.ts';

interface DashboardLinkOptions {
  /** Empty for none. */
  readonly token: string;
  readonly open: (link: string) => void;
  /** Called with a link that signs a browser in, where there is a token. */
  readonly tell: (link: string) => void;
}

export interface DashboardLink {
  /** Takes every event of a running `up`. */
  changed(kind: string, fields: Readonly<Record<string, unknown>>): void;
  /** The link to show; empty where the address of the API is enough. */
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
        // a link of its own: the one that is shown still works
        open(linkWithTicket(url, token));
      }
    },
    text: () => shown,
  };
}
