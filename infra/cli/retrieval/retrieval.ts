// Serves the factbook through ASearcher's retrieval interface.
import { pageAt } from '../../../producers/factbook/pages.ts';
import { searchFactbook, warmFactbookSearch } from '../../../producers/factbook/search.ts';
import { startRetrievalServer, type RetrievalServer, type RetrievalSource } from '../../web/retrieval-server.ts';

/** Searches and pages of the factbook. A document starts with its title in quotes, as in ASearcher's corpus. */
export const factbookSource: RetrievalSource = {
  retrieve: (query, topK) =>
    Promise.resolve(
      searchFactbook(query, topK).map(({ profile, lines }, at) => ({
        contents: `"${profile.title}"\n${lines.join('\n')}`,
        url: profile.url,
        score: 1 / (1 + at),
      })),
    ),
  access(url) {
    const page = pageAt(url.trim());
    return Promise.resolve(page === undefined ? undefined : { contents: page.markdown, url: page.profile.url, score: 1 });
  },
};

/** Serves the factbook until the returned server is closed. */
export function serveFactbook(host: string, port: number): Promise<RetrievalServer> {
  warmFactbookSearch();
  return startRetrievalServer(factbookSource, { host, port });
}
